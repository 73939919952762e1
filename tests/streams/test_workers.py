"""Worker threads, kept for the next job."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import contextvars
import gc
import threading
import weakref
from queue import SimpleQueue
from typing import Any

import pytest

from rxagent.streams.workers import Workers

from .acting import LIMIT, Boom, dropped_errors, fast_switches, thread_errors, took
from .repertoire import RACES, colour


@pytest.fixture
def workers() -> Any:
    workers = Workers(idle=1.0)  # those that come to rest after end_idle end soon, too
    yield workers
    workers.end_idle()


def rested(workers: Workers, count: int = 1) -> None:
    """Returns when so many workers stand idle; nobody tells of it."""
    for _ in range(2000):
        if workers.idle == count:
            return
        threading.Event().wait(0.001)
    raise AssertionError(f"{workers.idle} idle workers, not {count}")


def test_reuse(workers: Workers) -> None:
    """A worker takes the next job when it stands idle; all are daemons with rxagent's name."""
    threads: SimpleQueue[threading.Thread] = SimpleQueue()
    found = []
    for _ in range(3):
        workers.spawn(lambda: threads.put(threading.current_thread()))
        found.append(took(threads))
        rested(workers)
    assert len(set(found)) == 1
    assert found[0].daemon
    assert found[0].name.startswith("rxagent-worker-")


def test_a_job_never_waits(workers: Workers) -> None:
    """While all workers are busy a job gets a new one."""
    together = threading.Barrier(5)
    for _ in range(4):
        workers.spawn(lambda: together.wait(LIMIT))
    together.wait(LIMIT)


def test_many_at_once(workers: Workers) -> None:
    """Of many jobs given at once none waits for the end of another, and their threads are those of the next ones."""
    together = threading.Barrier(101)
    for _ in range(100):
        workers.spawn(lambda: together.wait(LIMIT))
    together.wait(LIMIT)
    rested(workers, 64)


def test_starts_come_back(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job whose turn to start comes when no thread is to be had is run by one that comes free."""
    ran: SimpleQueue[str] = SimpleQueue()
    starts = len(workers._starts)
    go = threading.Event()

    def stubborn(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    workers.spawn(lambda: (go.wait(LIMIT), ran.put("first")))
    while len(workers._starts) < starts:
        go.wait(0.001)
    taken, workers._starts = workers._starts, []
    workers.spawn(lambda: ran.put("second"))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", stubborn)
        workers._starts = taken
        workers._start_given()
        assert ran.empty()
        go.set()
        assert [took(ran), took(ran)] == ["first", "second"]
        for _ in range(2 * starts):  # a failed start gives its turn back
            rested(workers)
            workers.spawn(lambda: ran.put("next"))
            assert took(ran) == "next"
    rested(workers)
    assert len(workers._starts) == starts


def test_keep() -> None:
    """Not more than `keep` stand idle."""
    workers, together = Workers(keep=2), threading.Barrier(5)
    threads: SimpleQueue[threading.Thread] = SimpleQueue()
    for _ in range(4):
        workers.spawn(lambda: (threads.put(threading.current_thread()), together.wait(LIMIT)))
    together.wait(LIMIT)
    rested(workers, 2)
    found = [took(threads) for _ in range(4)]
    workers.end_idle()
    for thread in found:
        thread.join(LIMIT)
    assert not any(thread.is_alive() for thread in found)


def test_idle_ones_end() -> None:
    """An idle worker ends after its time."""
    workers = Workers(idle=0.01)
    threads: SimpleQueue[threading.Thread] = SimpleQueue()
    workers.spawn(lambda: threads.put(threading.current_thread()))
    thread = took(threads)
    thread.join(LIMIT)
    assert (thread.is_alive(), workers.idle) == (False, 0)


def test_races_of_ending_idle_with_spawning() -> None:
    """Of 500 jobs given to workers that are about to end none is lost."""
    workers = Workers(idle=0.0)
    ran: SimpleQueue[int] = SimpleQueue()
    with fast_switches():
        for number in range(RACES):
            workers.spawn(lambda number=number: ran.put(number))  # type: ignore[misc]
            assert took(ran) == number


def test_end_idle(workers: Workers) -> None:
    """`end_idle` waits until the idle threads are gone and leaves the busy ones alone."""
    go, inside, threads = threading.Event(), threading.Event(), SimpleQueue[threading.Thread]()
    workers.spawn(lambda: threads.put(threading.current_thread()))
    idle = took(threads)
    rested(workers)
    together = threading.Barrier(2)
    workers.spawn(lambda: together.wait(LIMIT))
    workers.spawn(lambda: (inside.set(), go.wait(LIMIT), threads.put(threading.current_thread())))
    together.wait(LIMIT)
    assert inside.wait(LIMIT)
    rested(workers)
    workers.end_idle()
    assert not idle.is_alive() or workers.idle == 0
    go.set()
    assert took(threads).is_alive()


def test_context(workers: Workers) -> None:
    """A job runs in a copy of the caller's context, or of the one that it was given."""
    found: SimpleQueue[str] = SimpleQueue()
    context = contextvars.copy_context()
    context.run(colour.set, "red")

    def job() -> None:
        found.put(colour.get())
        colour.set("changed")

    workers.spawn(job, context)
    assert took(found) == "red"
    workers.spawn(job)
    assert took(found) == "none"
    assert (context[colour], colour.get()) == ("red", "none")


def test_one_context_for_many(workers: Workers) -> None:
    """Two jobs at once may be given the same context."""
    context, together = contextvars.copy_context(), threading.Barrier(3)
    for _ in range(2):
        workers.spawn(lambda: together.wait(LIMIT), context)
    together.wait(LIMIT)


def test_raising_job(workers: Workers) -> None:
    """What a job raises is dropped, and its worker goes on."""
    threads: SimpleQueue[int] = SimpleQueue()

    def bad() -> None:
        threads.put(threading.get_ident())
        raise Boom("job")

    with dropped_errors() as dropped:
        workers.spawn(bad)
        assert took(dropped)[1] == "worker"
        rested(workers)
        workers.spawn(lambda: threads.put(threading.get_ident()))
        assert took(threads) == took(threads)


def test_exit_of_a_job(workers: Workers) -> None:
    """A BaseException ends the thread and reaches `threading.excepthook`; the next job gets another one."""

    def bad() -> None:
        raise KeyboardInterrupt

    ran: SimpleQueue[bool] = SimpleQueue()
    with thread_errors() as errors:
        workers.spawn(bad)
        assert took(errors) is KeyboardInterrupt
        workers.spawn(lambda: ran.put(True))
        assert took(ran)


def test_an_idle_worker_keeps_nothing(workers: Workers) -> None:
    """An idle worker keeps neither the last job nor its context alive."""

    class Thing:
        def job(self) -> None: ...

    thing = Thing()
    alive = weakref.ref(thing)
    workers.spawn(thing.job)
    del thing
    rested(workers)
    gc.collect()
    assert alive() is None


def test_no_thread(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a thread to be had spawn raises RuntimeError, and an idle worker still serves."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    ran: SimpleQueue[str] = SimpleQueue()
    workers.spawn(lambda: ran.put("warm"))
    took(ran)
    rested(workers)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    workers.spawn(lambda: ran.put("idle one"))
    assert took(ran) == "idle one"
    rested(workers)
    workers._idle.popitem()[0].put(None)
    with pytest.raises(RuntimeError):
        workers.spawn(lambda: None)
