"""Branches of a run side by side."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

import reactivex
from reactivex import Observable

from rxagent.streams import Parallel

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
