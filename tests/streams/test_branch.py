"""Part of a run on a worker of its own."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
import reactivex
from reactivex import Observable

from rxagent.streams import Branch, Emit, Single, SingleEmitter, Work
from rxagent.streams.aio import single_of_coroutine
from rxagent.streams.scope import CancelScope
from rxagent.streams.workers import workers

from .acting import LIMIT, Boom, Host, Play, Seen
from .repertoire import StreamRepertoire


class TestBranch(StreamRepertoire):
    def make(self, host: Host, play: Play) -> Observable[Any]:
        return Branch(host.ledger, host.scope, play.work)


def test_threads() -> None:
    """A branch works on a worker of its own, on_next included."""
    with Host() as host:
        play = Play("ab|")
        seen = Seen().of(Branch(host.ledger, host.scope, play.work))
        seen.wait()
        assert set(play.threads) == seen.threads
        assert not seen.threads & {host.thread, threading.get_ident()}


def test_foreign_events_come_to_the_branch() -> None:
    """What a flow emits from a thread of somebody else is passed down on the branch's worker."""
    with Host() as host:
        flow = reactivex.merge(Single.just("a"), reactivex.merge(*[_elsewhere(mark) for mark in "bc"]))
        seen = Seen().of(Branch(host.ledger, host.scope, lambda _: flow))
        assert sorted(seen.wait()) == ["a", "b", "c", "|"]
        assert len(seen.threads) == 1


def _elsewhere(value: str) -> Single[str]:
    return Single(lambda emitter: workers.spawn(lambda: emitter.on_success(value)))


def test_cancelled_error() -> None:
    """A CancelledError of a coroutine in a branch is an error of the branch, not a hang."""

    async def cancelled() -> None:
        raise asyncio.CancelledError

    def body(emit: Emit[Any], scope: CancelScope) -> None:
        single_of_coroutine(cancelled).blocking_get(scope)

    with Host() as host:
        seen = Seen().of(Branch(host.ledger, host.scope, lambda mailbox: Work(mailbox, body)))
        assert seen.wait() == "x"
        assert "CancelledError" in str(seen.error)


def test_flow_that_cannot_be_made() -> None:
    """An error in making the flow is an error of the branch."""

    def flow(_: object) -> Observable[Any]:
        raise Boom("flow")

    with Host() as host:
        seen = Seen().of(Branch(host.ledger, host.scope, flow))
        assert (seen.wait(), str(seen.error)) == ("x", "flow")


def test_cancelled_run() -> None:
    """A branch of a run that was stopped does not start."""
    with Host() as host:
        host.scope.cancel("test")
        play = Play("a|")
        seen = Seen().of(Branch(host.ledger, host.scope, play.work))
        assert (seen.marbles, play.started, host.ledger.count) == ("", 0, 1)


def test_dispose_reaches_what_is_elsewhere() -> None:
    """A dispose of the branch, or a stop of its run, disposes what its flow waits for on threads of somebody else."""
    for stop in ("dispose", "cancel"):
        started, cancelled = threading.Event(), threading.Event()

        def start(emitter: SingleEmitter[Any], started: Any = started, cancelled: Any = cancelled) -> None:
            emitter.set_cancellable(cancelled.set)
            started.set()

        flow: Single[Any] = Single(start)
        with Host() as host:
            seen = Seen().of(Branch(host.ledger, host.scope, lambda _, flow=flow: flow))  # type: ignore[misc]
            assert started.wait(LIMIT)
            if stop == "dispose":
                seen.dispose()
            else:
                host.scope.cancel("test")
            assert cancelled.wait(LIMIT)
            assert seen.marbles == ""


def test_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a thread to be had the branch fails, and the ledger does not wait for it."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with Host() as host:
        workers.end_idle()
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            seen = Seen().of(Branch(host.ledger, host.scope, Play("a|").work))
        assert (seen.marbles, host.ledger.count) == ("x", 1)
        assert len(host.scope._callbacks) <= 1  # the mailbox's own wait


def test_the_ledger_waits() -> None:
    """A disposed branch counts as work until its worker has left."""
    inside, go = threading.Event(), threading.Event()

    def body(emit: Emit[Any], scope: CancelScope) -> None:
        inside.set()
        assert go.wait(10)

    with Host() as host:
        seen = Seen().of(Branch(host.ledger, host.scope, lambda mailbox: Work(mailbox, body)))
        assert inside.wait(10)
        seen.dispose()
        assert host.ledger.count == 2
        go.set()
