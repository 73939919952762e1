"""Which work of a run is still out."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest

from rxagent.streams import Ledger
from rxagent.streams.workers import workers

from .acting import LIMIT, fast_switches, took


def test_empty_once() -> None:
    """on_empty runs once, when the last work leaves."""
    told: list[int] = []
    ledger = Ledger(lambda: told.append(ledger.count), workers.spawn)
    ledger.enter()
    assert ledger.count == 2
    ledger.leave()
    assert told == []
    ledger.leave()
    assert told == [0]


def test_work_of_the_end() -> None:
    """Work that on_empty itself does, such as an asynchronous hook, does not run it again."""
    told: list[int] = []

    def over() -> None:
        told.append(ledger.count)
        ledger.enter()
        ledger.leave()

    ledger = Ledger(over, workers.spawn)
    ledger.leave()
    assert told == [0]


def test_on_a_loop() -> None:
    """The last work that leaves on a loop's thread has the end told aside of it."""
    threads: SimpleQueue[int] = SimpleQueue()
    ledger = Ledger(lambda: threads.put(threading.get_ident()), workers.spawn)
    ledger.leave(on_loop=True)
    assert took(threads) != threading.get_ident()


def test_spawn() -> None:
    """Spawned work counts until it leaves."""
    go, over = threading.Event(), threading.Event()
    ledger = Ledger(over.set, workers.spawn)
    ledger.spawn(lambda: (go.wait(LIMIT), ledger.leave()))
    ledger.leave()
    assert not over.is_set()
    go.set()
    assert over.wait(LIMIT)


def test_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a thread to be had spawn raises, and nothing is out."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    ledger = Ledger(lambda: None, workers.spawn)
    workers.end_idle()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError):
        ledger.spawn(lambda: None)
    assert ledger.count == 1


def test_races() -> None:
    """Of 8,000 works that leave at once on several threads exactly one is the last."""
    told: SimpleQueue[bool] = SimpleQueue()
    ledger = Ledger(lambda: told.put(True), workers.spawn)
    with fast_switches():
        for _ in range(8000):
            ledger.enter()
        for _ in range(4):
            workers.spawn(lambda: [ledger.leave() for _ in range(2000)])
        ledger.leave()
        assert took(told)
    assert told.empty()
