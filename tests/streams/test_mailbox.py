"""Where code of a run stands."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import asyncio
import threading
from queue import SimpleQueue
from typing import Any

import pytest

from rxagent.streams import CancelScope, Mailbox, Stopped
from rxagent.streams.workers import workers

from .acting import LIMIT, Boom, Host, fast_switches, took
from .repertoire import RACES


def test_serve_in_order() -> None:
    """Jobs run one after the other, in the order of posting, until the end."""
    mailbox, ran = Mailbox(CancelScope()), []

    def first() -> None:
        ran.append("first")
        for name in "ab":
            mailbox.post(lambda name=name: ran.append(name))  # type: ignore[misc]
        mailbox.end()
        mailbox.post(lambda: ran.append("never"))

    mailbox.serve(first)
    assert ran == ["first", "a", "b"]


def test_stop() -> None:
    """A cancel leaves `serve` by Stopped after the job in progress; what waits does not run."""
    scope, ran = CancelScope(), []
    mailbox = Mailbox(scope)
    mailbox.post(lambda: (ran.append("a"), scope.cancel("test"), ran.append("still a")))
    mailbox.post(lambda: ran.append("b"))
    with pytest.raises(Stopped):
        mailbox.serve(lambda: None)
    assert ran == ["a", "still a"]


def test_an_error_leaves_serve() -> None:
    """What a job raises leaves `serve`."""
    mailbox = Mailbox(CancelScope())
    mailbox.post(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        mailbox.serve(lambda: None)


def test_serve_does_not_end_early() -> None:
    """Only `end` ends it: of 500 jobs from another thread none is left behind."""
    ran: list[int] = []
    mailbox = Mailbox(CancelScope())

    def post() -> None:
        for number in range(RACES):
            mailbox.post(lambda number=number: ran.append(number))  # type: ignore[misc]
        mailbox.end()

    with fast_switches():
        mailbox.serve(lambda: workers.spawn(post))
    assert ran == list(range(RACES))


def test_send_does_not_wait() -> None:
    """What is sent runs on the worker, in order with what is relayed; on the worker itself at once."""
    ran: list[tuple[str, int]] = []

    def note(name: str) -> None:
        ran.append((name, threading.get_ident()))

    with Host() as host:
        gate: SimpleQueue[bool] = SimpleQueue()
        host.mailbox.post(lambda: took(gate))
        host.mailbox.send(note, "a")
        host.mailbox.send(note, "b")
        assert ran == []
        gate.put(True)
        host.mailbox.relay(note, "c")
        host.run(lambda: (host.mailbox.send(note, "d"), note("e")))
        assert ran == [(name, host.thread) for name in "abcde"]


def test_what_was_sent_is_dropped_by_a_cancel() -> None:
    """A call that was sent with a scope of its own no longer runs once that is cancelled."""
    ran: list[str] = []
    with Host() as host:
        scope = CancelScope()
        host.mailbox.post(scope.cancel)
        host.mailbox.send(ran.append, "a", scope)
        host.run(lambda: None)
    assert ran == []


def test_relay_runs_on_the_worker() -> None:
    """A relayed call runs on the worker and has run when relay returns; on the worker it is a plain call."""
    threads: list[int] = []

    def call(_: object) -> None:
        threads.append(threading.get_ident())

    with Host() as host:
        host.mailbox.relay(call, None)
        assert threads == [host.thread]
        host.run(lambda: (host.mailbox.relay(call, None), threads.append(0)))
        assert threads == [host.thread, host.thread, 0]


def test_relay_is_left_by_a_stop() -> None:
    """A sender whose scope is cancelled waits no longer, and its call does not run."""
    scope, go = CancelScope(), threading.Event()
    ran: list[str] = []
    with Host() as host:
        inside = threading.Event()
        host.mailbox.post(lambda: (inside.set(), go.wait(LIMIT)))
        assert inside.wait(LIMIT)
        workers.spawn(lambda: scope.cancel("test"))
        host.mailbox.relay(ran.append, "late", scope)
        go.set()
        host.run(lambda: None)
    assert ran == []


def test_relay_of_an_error() -> None:
    """A relayed call that raises fails the worker, and its sender goes on."""

    def bad(_: object) -> None:
        raise Boom("relayed")

    with Host() as host:
        host.mailbox.relay(bad, None)
        assert host.failed.wait(LIMIT)
        assert isinstance(host.error, Boom)


def test_relay_from_a_loop() -> None:
    """A sender that runs an event loop does not wait."""
    ran: SimpleQueue[Any] = SimpleQueue()

    async def main(host: Host, go: threading.Event) -> None:
        host.mailbox.relay(ran.put, "v")
        go.set()

    with Host() as host:
        go, inside = threading.Event(), threading.Event()
        host.mailbox.post(lambda: (inside.set(), ran.put(go.wait(LIMIT))))
        assert inside.wait(LIMIT)
        asyncio.run(main(host, go))
        assert (took(ran), took(ran)) == (True, "v")
