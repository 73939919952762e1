"""One thread and one heap for all deadlines of the process."""

from __future__ import annotations

import contextvars
import gc
import threading
import time
import weakref
from queue import SimpleQueue
from typing import Any

import pytest

from rxagent.streams.timer import Timer
from rxagent.streams.workers import workers

from .acting import LIMIT, Boom, dropped_errors, fast_switches, took
from .repertoire import colour


def timers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "rxagent-timer"]


def refuse(self: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


@pytest.fixture
def timer() -> Any:
    timer = Timer()
    yield timer
    timer.end()


def test_order(timer: Timer) -> None:
    """Jobs run in the order of their deadlines, not of their registration, on workers."""
    ran: SimpleQueue[tuple[str, str]] = SimpleQueue()
    for name, seconds in (("c", 0.06), ("a", 0.0), ("b", 0.03)):
        timer.after(seconds, lambda name=name: ran.put((name, threading.current_thread().name)))  # type: ignore[misc]
    for name in "abc":
        found, thread = took(ran)
        assert found == name
        assert thread.startswith("rxagent-worker")


def test_not_too_early(timer: Timer) -> None:
    """A job does not run before its time."""
    ran: SimpleQueue[float] = SimpleQueue()
    start = time.monotonic()
    timer.after(0.05, lambda: ran.put(time.monotonic()))
    assert took(ran) - start >= 0.05


def test_taken_back(timer: Timer) -> None:
    """A deadline that was taken back does not run, and its job is dropped at once."""

    class Thing:
        def job(self) -> None:
            ran.put("taken back")

    ran: SimpleQueue[str] = SimpleQueue()
    thing = Thing()
    alive = weakref.ref(thing)
    take_back = timer.after(5, thing.job)
    take_back()
    take_back()
    del thing
    gc.collect()
    assert alive() is None
    timer.after(0, lambda: ran.put("next"))
    assert took(ran) == "next"
    assert ran.empty()


def test_ran_jobs_are_dropped(timer: Timer) -> None:
    """A job that has run is kept neither by the timer's thread nor by its take-back."""

    class Thing:
        def job(self) -> None:
            ran.put("ran")

    ran: SimpleQueue[str] = SimpleQueue()
    thing = Thing()
    alive = weakref.ref(thing)
    take_back = timer.after(0, thing.job)
    del thing
    assert took(ran) == "ran"
    timer.after(0, lambda: ran.put("the next job"))
    took(ran)
    workers.end_idle()
    gc.collect()
    assert alive() is None
    take_back()


def test_one_thread(timer: Timer) -> None:
    """A hundred deadlines have one thread, and it ends at once when they were all taken back."""
    before = len(timers())
    backs = [timer.after(5 + number, lambda: None) for number in range(100)]
    assert len(timers()) == before + 1
    timer.end()
    assert len(timers()) == before + 1  # pending deadlines keep it
    for take_back in backs:
        take_back()
    start = time.monotonic()
    timer.end()
    assert (len(timers()), time.monotonic() - start < 2) == (before, True)


def test_ends_idle() -> None:
    """Without a deadline the thread ends by itself, and a later deadline starts another one."""
    timer = Timer(idle_seconds=0.01)
    ran: SimpleQueue[bool] = SimpleQueue()
    for _ in range(2):
        timer.after(0, lambda: ran.put(True))
        thread = timers()[-1]
        took(ran)
        thread.join(LIMIT)
        assert not thread.is_alive()


def test_ends_while_deadlines_come() -> None:
    """Ending it over and over loses no deadline and does not wait for one."""
    timer = Timer()
    ran: SimpleQueue[int] = SimpleQueue()
    over = threading.Event()

    def end() -> None:
        while not over.is_set():
            timer.end()

    with fast_switches():
        workers.spawn(end)
        for number in range(200):
            timer.after(0, lambda number=number: ran.put(number))  # type: ignore[misc]
        assert sorted(took(ran) for _ in range(200)) == list(range(200))
        over.set()
    timer.end()


def test_context(timer: Timer) -> None:
    """A job runs in the context that it was given."""
    context = contextvars.copy_context()
    context.run(colour.set, "red")
    found: SimpleQueue[str] = SimpleQueue()
    timer.after(0, lambda: found.put(colour.get()), context)
    assert took(found) == "red"


def test_raising_job(timer: Timer) -> None:
    """What a job raises is dropped, and the next deadline is kept."""

    def bad() -> None:
        raise Boom("job")

    ran: SimpleQueue[bool] = SimpleQueue()
    with dropped_errors() as dropped:
        timer.after(0, bad)
        assert str(took(dropped)[0]) == "job"
        timer.after(0, lambda: ran.put(True))
        took(ran)


def test_no_thread_for_a_job(timer: Timer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a worker to be had jobs run on the timer's thread, and what they raise does not end it."""

    def bad() -> None:
        raise Boom("job")

    ran: SimpleQueue[str] = SimpleQueue()
    timer.after(0, lambda: ran.put("warm"))
    took(ran)
    workers.end_idle()
    with dropped_errors() as dropped, monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        timer.after(0, bad)
        assert str(took(dropped)[0]) == "job"
        timer.after(0, lambda: ran.put(threading.current_thread().name))
        assert took(ran) == "rxagent-timer"


def test_no_thread_for_the_timer(timer: Timer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a thread to be had `after` does not raise; the deadline is kept with the next one."""
    ran: SimpleQueue[str] = SimpleQueue()
    with dropped_errors() as dropped, monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        timer.after(0, lambda: ran.put("a"))
        assert took(dropped)[1] == "timer"
    timer.after(0, lambda: ran.put("b"))
    assert sorted([took(ran), took(ran)]) == ["a", "b"]
