"""Branches of a run side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from typing import Any, NamedTuple

import pytest
import reactivex
from reactivex import Observable

from rxagent.streams import CancelScope, Emit, Mailbox, Parallel, Work

from .acting import Host, Play, Seen, thread_errors, took
from .repertoire import StreamRepertoire


class TestParallel(StreamRepertoire):
    """One flow."""

    consumer_errors = "host"

    def make(self, host: Host, play: Play) -> Observable[Any]:
        return Parallel(host.mailbox, host.ledger, [play.work])

    def test_contextvars(self) -> None:
        """The context is that of the mailbox's worker, which the run has set; not asked here."""


def test_all_flows_are_joined() -> None:
    """The events of all flows come down on the mailbox's worker, then the end."""
    with Host() as host:
        plays = [Play("ab|"), Play("cd|"), Play("|")]
        seen = Seen().of(Parallel(host.mailbox, host.ledger, [play.work for play in plays]))
        assert sorted(seen.wait()) == ["a", "b", "c", "d", "|"]
        assert (seen.marbles[-1], seen.threads, seen.faults) == ("|", {host.thread}, [])
        assert len({thread for play in plays for thread in play.threads}) == 3


def test_no_flows() -> None:
    """Without flows it ends at once."""
    with Host() as host:
        assert Seen().of(Parallel(host.mailbox, host.ledger, [])).wait() == "|"


def test_the_first_error_stops_the_others() -> None:
    """The first error ends it, and the other branches are stopped."""
    with Host() as host:
        others = [Play("."), Play("a.")]
        bad = Play(".x")
        seen = Seen().of(Parallel(host.mailbox, host.ledger, [one.work for one in [*others, bad]]))
        for play in [*others, bad]:
            play.waits()
        bad.open()
        assert (seen.wait(), seen.error) == ("ax", bad.error)
        assert [play.end() for play in others] == ["stopped", "stopped"]


def test_an_exit_in_one_branch() -> None:
    """A SystemExit in one branch ends it, and the others."""
    with Host() as host, thread_errors():
        other = Play(".")
        seen = Seen().of(Parallel(host.mailbox, host.ledger, [Play("!").work, other.work]))
        assert seen.wait() == "x"
        assert isinstance(seen.error, SystemExit)


def test_a_branch_waits_until_its_event_is_passed_down() -> None:
    """A branch goes on only when its event was taken below."""
    made: list[list[str]] = []
    with Host() as host:
        play = Play("abc|")
        seen = Seen(lambda _: made.append(list(play.made))).of(Parallel(host.mailbox, host.ledger, [play.work]))
        seen.wait()
    assert made == [["a"], ["a", "b"], ["a", "b", "c"]]


def test_nested() -> None:
    """Branches of branches are joined step by step, each on the worker above it."""
    with Host() as host:
        leaves = [Play("ab|") for _ in range(4)]
        inner = [
            lambda mailbox, pair=pair: Parallel(mailbox, host.ledger, [play.work for play in pair])
            for pair in (leaves[:2], leaves[2:])
        ]
        seen = Seen().of(Parallel(host.mailbox, host.ledger, inner))
        assert sorted(seen.wait()) == sorted("abababab|")
        assert (seen.threads, seen.faults) == ({host.thread}, [])


def test_dispose_frees_branches_that_wait_for_the_consumer() -> None:
    """While the consumer blocks, a dispose lets the branches go that wait to pass something down."""
    with Host() as host:
        plays = [Play(".ab|") for _ in range(3)]
        gate: SimpleQueue[bool] = SimpleQueue()
        seen = Seen(lambda _: took(gate)).of(Parallel(host.mailbox, host.ledger, [play.work for play in plays]))
        for play in plays:
            play.waits()
            play.open()
        seen.item()
        seen.dispose()
        assert [play.end() for play in plays] == ["stopped"] * 3
        gate.put(True)
        host.run(lambda: None)
        assert len(seen.marbles) == 1


def test_steps_after_it() -> None:
    """What is concatenated to it starts when all branches have ended, on the mailbox's worker."""
    with Host() as host:
        last = Play("z|")
        stream = reactivex.concat(
            Parallel(host.mailbox, host.ledger, [Play("a|").work, Play("b|").work]), last.work(host.mailbox)
        )
        assert Seen().of(stream).wait()[-2:] == "z|"
        assert last.threads == [host.thread]


class Bit(NamedTuple):
    """An event, as far as Parallel looks at it."""

    name: str
    partial: bool = True

    def __str__(self) -> str:
        return self.name


def telling(made: list[str], bits: Iterable[Bit]) -> Callable[[Mailbox], Observable[Bit]]:
    """A flow that emits these, and notes before each what it is."""

    def work(emit: Emit[Bit], scope: CancelScope) -> None:
        for bit in bits:
            made.append(bit.name)
            emit(bit)

    return lambda mailbox: Work(mailbox, work)


def test_partial_events_go_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the worker is busy with one, 64 partial events of a branch are under way; it waits with the next."""
    waits: SimpleQueue[str] = SimpleQueue()
    entered: SimpleQueue[bool] = SimpleQueue()
    gate: SimpleQueue[bool] = SimpleQueue()
    plain = Mailbox.relay

    def relay(self: Mailbox, function: Any, value: Any, scope: CancelScope | None = None) -> None:
        if isinstance(value, Bit) and self is host.mailbox:
            waits.put(value.name)
        plain(self, function, value, scope)

    monkeypatch.setattr(Mailbox, "relay", relay)

    def bits() -> Iterator[Bit]:
        yield Bit("0 ")
        took(entered)
        yield from (Bit(f"{number} ") for number in range(1, 100))

    def on_next(bit: Bit) -> None:
        if bit.name == "0 ":
            entered.put(True)
            took(gate)

    made: list[str] = []
    with Host() as host:
        seen = Seen(on_next).of(Parallel(host.mailbox, host.ledger, [telling(made, bits())]))
        assert (took(waits), len(made)) == ("65 ", 66)
        gate.put(True)
        assert seen.wait() == "".join(f"{number} " for number in range(100)) + "|"
        assert seen.threads == {host.thread}


def test_a_branch_waits_with_a_final_event_behind_partial_ones() -> None:
    """A final event comes after the partial ones before it, and the branch goes on only when it was passed down."""
    made: list[str] = []
    then: list[int] = []
    with Host() as host:
        bits = [Bit("a"), Bit("b"), Bit("F", partial=False), Bit("c"), Bit("G", partial=False)]
        seen = Seen(lambda bit: None if bit.partial else then.append(len(made)))
        assert seen.of(Parallel(host.mailbox, host.ledger, [telling(made, bits)])).wait() == "abFcG|"
    assert then == [3, 5]


def test_what_is_under_way_at_a_dispose_is_not_delivered() -> None:
    """Partial events that the worker has not taken when the consumer leaves never come."""
    gate: SimpleQueue[bool] = SimpleQueue()
    with Host() as host:
        seen = Seen(lambda _: took(gate))
        seen.of(Parallel(host.mailbox, host.ledger, [telling([], [Bit(name) for name in "abcdefgh"])]))
        seen.item()
        seen.dispose()
        gate.put(True)
        host.run(lambda: None)
        assert seen.marbles == "a"
