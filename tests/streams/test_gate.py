"""Gate: what happens once, and is waited for."""

from __future__ import annotations

import threading
from queue import SimpleQueue

from rxagent.streams.gate import Gate
from rxagent.streams.workers import workers

from .acting import took


def test_waiters() -> None:
    """A set lets every waiter go, those of before and those of later."""
    gate, left = Gate(), SimpleQueue[bool]()
    waiting = threading.Barrier(4)

    def wait() -> None:
        waiting.wait()
        left.put(gate.wait())

    for _ in range(3):
        workers.spawn(wait)
    waiting.wait()
    assert not gate.is_set()
    assert left.empty()
    gate.set()
    assert [took(left) for _ in range(3)] == [True] * 3
    assert gate.is_set()
    assert gate.wait()
    assert gate.wait(0)


def test_not_in_time() -> None:
    """A wait that takes too long is told so; a time that is over already is none."""
    gate = Gate()
    assert not gate.wait(0.01)
    assert not gate.wait(0)
    assert not gate.wait(-1.5)
