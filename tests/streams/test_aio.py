"""Loops, tasks, cancelling them, and waiting on them."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import asyncio
import threading
import time
from queue import SimpleQueue
from typing import Any

import pytest
import reactivex
from reactivex import Observable

from rxagent.errors import UsageError
from rxagent.streams import Blocking, Ledger, Single, aio, idle
from rxagent.streams.aio import awaitable, blocking_wait, home_loop, in_thread, single_of_coroutine
from rxagent.streams.ledger import current_ledger
from rxagent.streams.workers import workers

from .acting import LIMIT, Boom, Play, Seen, took
from .repertoire import Held, SingleRepertoire, colour


class CoroutineHeld(Held):
    """A coroutine on the background loop."""

    def __init__(self) -> None:
        super().__init__()
        self.single = single_of_coroutine(self.work)

    async def work(self) -> Any:
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Any] = self.loop.create_future()
        self.started.put(True)
        try:
            return await self.answer
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    def _tell(self, value: Any, error: Exception | None) -> None:
        def tell() -> None:
            if self.answer.done():
                return
            if error is not None:
                self.answer.set_exception(error)
            else:
                self.answer.set_result(value)

        self.loop.call_soon_threadsafe(tell)

    def finish(self, value: object) -> None:
        self._tell(value, None)

    def fail(self, error: Exception) -> None:
        self._tell(None, error)


class TestCoroutine(SingleRepertoire):
    def make(self) -> Held:
        return CoroutineHeld()


class Work:
    """A run's ledger, and what is asked about it."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.threads: list[str] = []
        self.ledger = Ledger(self._empty, workers.spawn)

    def _empty(self) -> None:
        self.threads.append(threading.current_thread().name)
        self.over.set()


def of_run(work: Work, loop: asyncio.AbstractEventLoop | None, job: Any) -> None:
    """Have a job run on a worker, as code of a run whose loop is `loop`."""

    def enter() -> None:
        current_ledger.set(work.ledger)
        home_loop.set(loop)
        job()

    workers.spawn(enter)


async def where() -> str:
    return threading.current_thread().name


def test_without_a_loop_it_is_the_background() -> None:
    """Outside of a loop coroutines run on one background loop, and it serves them all."""
    assert {single_of_coroutine(where).blocking_get() for _ in range(3)} == {"rxagent-loop"}
    assert sum(thread.name == "rxagent-loop" for thread in threading.enumerate()) == 1


def test_the_home_loop() -> None:
    """Coroutines of a run go to the loop on which it was subscribed; once that is gone, to the background."""
    got: SimpleQueue[str] = SimpleQueue()
    work = Work()

    def job() -> None:
        got.put(single_of_coroutine(where).blocking_get())

    async def main() -> None:
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        of_run(work, loop, lambda: (job(), loop.call_soon_threadsafe(done.set)))
        await done.wait()
        loops.append(loop)

    loops: list[asyncio.AbstractEventLoop] = []
    asyncio.run(main())
    assert took(got) == threading.current_thread().name
    of_run(work, loops[0], job)
    assert took(got) == "rxagent-loop"


def test_context() -> None:
    """A coroutine has the context of its subscriber, its making too."""

    async def shown(made: str) -> tuple[str, str]:
        return made, colour.get()

    token = colour.set("red")
    try:
        assert single_of_coroutine(lambda: shown(colour.get())).blocking_get() == ("red", "red")
    finally:
        colour.reset(token)


@pytest.mark.parametrize("make", [lambda: 5, lambda: 1 / 0])
def test_no_coroutine(make: Any) -> None:
    """A maker that fails, or makes no coroutine, is an error, not a hang."""
    assert Seen().of(single_of_coroutine(make)).wait() == "x"


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt()])
def test_left_by_a_base_exception(error: BaseException) -> None:
    """A coroutine left by a BaseException is an error, and the background loop goes on."""

    async def leaves() -> None:
        raise error

    seen = Seen().of(single_of_coroutine(leaves))
    assert (seen.wait(), type(seen.error)) == ("x", RuntimeError)
    assert single_of_coroutine(where).blocking_get(timeout=LIMIT) == "rxagent-loop"


def test_a_task_is_work_until_it_has_ended() -> None:
    """A cancelled coroutine counts as work until its own cleanup is over; the end is then told aside of the loop."""
    work, started, go = Work(), threading.Event(), threading.Event()
    handles: SimpleQueue[Any] = SimpleQueue()

    async def slow() -> None:
        started.set()
        try:
            await asyncio.sleep(LIMIT)
        finally:
            while not go.is_set():  # cleanup that takes its time
                await asyncio.sleep(0.001)

    of_run(work, None, lambda: handles.put(single_of_coroutine(slow).subscribe()))
    handle = took(handles)
    assert started.wait(LIMIT)
    work.ledger.leave()
    handle.dispose()
    assert (work.ledger.count, work.over.is_set()) == (1, False)
    go.set()
    assert work.over.wait(LIMIT)
    assert work.threads[0].startswith("rxagent-worker")


def test_a_coroutine_under_way_keeps_the_loop() -> None:
    """Ending what idles leaves the background loop alone while a coroutine is under way on it."""
    held = CoroutineHeld()
    seen = Seen().of(held.single)
    took(held.started)
    idle.end_all()
    held.finish("v")
    assert seen.wait() == "v|"


def test_loop_closed_under_a_coroutine() -> None:
    """When its loop is closed under it, a coroutine is cancelled, and whoever waits gets an error."""
    held, work = CoroutineHeld(), Work()
    seen = Seen()

    async def main() -> None:
        of_run(work, asyncio.get_running_loop(), lambda: seen.of(held.single))
        await asyncio.to_thread(took, held.started)

    asyncio.run(main())
    assert seen.wait() == "x"
    assert held.cancelled.is_set()
    seen.dispose()


# -- blocking waits ----------------------------------------------------------------------------------------------------


def test_blocked_loop_is_avoided() -> None:
    """While a blocking wait occupies a loop, coroutines go to the background loop; afterwards to it again."""
    got: SimpleQueue[str] = SimpleQueue()
    work = Work()

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def job() -> None:
            got.put(single_of_coroutine(where).blocking_get(timeout=LIMIT))

        with blocking_wait(work.ledger):
            with blocking_wait(None):
                pass
            of_run(work, loop, job)
            assert took(got) == "rxagent-loop"
        of_run(work, loop, job)
        while got.empty():
            await asyncio.sleep(0)
        assert took(got) == threading.current_thread().name

    asyncio.run(main())


def test_choice_and_count_are_one_act() -> None:
    """Of 200 races of a blocking wait with a coroutine of the same run none hangs: refused, or the background loop."""
    work = Work()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(200):
            got: SimpleQueue[str] = SimpleQueue()
            of_run(work, loop, lambda got=got: got.put(single_of_coroutine(where).blocking_get()))
            try:
                with blocking_wait(work.ledger):
                    took(got)
            except UsageError:
                while got.empty():
                    await asyncio.sleep(0)

    asyncio.run(main())


def test_wait_on_the_background_loop() -> None:
    """A blocking wait inside a coroutine on the background loop is refused."""

    async def blocks() -> None:
        with blocking_wait(None):
            raise AssertionError("not refused")

    with pytest.raises(UsageError, match="await"):
        single_of_coroutine(blocks).blocking_get()


def test_wait_for_a_coroutine_of_this_loop() -> None:
    """A wait for a run whose coroutine is under way on this very loop is refused; for another run it is not."""
    held, work, other = CoroutineHeld(), Work(), Work()

    async def main() -> None:
        seen = Seen()
        of_run(work, asyncio.get_running_loop(), lambda: seen.of(held.single))
        while held.started.empty():
            await asyncio.sleep(0)
        with pytest.raises(UsageError, match="coroutine of the run is under way"), blocking_wait(work.ledger):
            pass
        with blocking_wait(other.ledger):
            pass
        seen.dispose()
        while not held.cancelled.is_set():
            await asyncio.sleep(0)

    asyncio.run(main())


def test_wait_without_a_loop() -> None:
    """Where no loop runs a blocking wait is always allowed."""
    with blocking_wait(None):
        assert not aio.on_loop_thread()


# -- awaiting ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("debug", [False, True])
def test_awaitable(debug: bool) -> None:
    """The last value of a stream of another thread, also where asyncio looks for calls from the wrong thread."""
    start = time.monotonic()
    assert asyncio.run(awaitable(Blocking(Play("ab|"))), debug=debug) == "b"
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (reactivex.throw(Boom()), Boom),
        (reactivex.throw(StopIteration("v")), RuntimeError),
        (reactivex.empty(), UsageError),
    ],
)
def test_awaitable_errors(source: Observable[Any], error: type[Exception]) -> None:
    """The stream's error is raised, a StopIteration too; no value is a UsageError."""
    with pytest.raises(error):
        asyncio.run(awaitable(source))


def test_awaitable_of_a_loop_that_ends() -> None:
    """When the loop ends meanwhile the source is disposed."""
    play = Play("a.|")

    async def main() -> None:
        task = asyncio.ensure_future(awaitable(Blocking(play)))
        await asyncio.to_thread(play.waits)
        assert not task.done()

    asyncio.run(main())
    assert play.end() == "stopped"


def test_in_thread() -> None:
    """Blocking code is awaited on a worker, its errors are raised, and so is a SystemExit."""

    def name(prefix: str) -> str:
        return prefix + threading.current_thread().name

    async def main() -> None:
        assert (await in_thread(name, "on ")).startswith("on rxagent-worker")
        with pytest.raises(ZeroDivisionError):
            await in_thread(lambda: 1 / 0)

    asyncio.run(main())


def test_who_takes() -> None:
    """The taker is the task, else the thread."""

    async def main() -> bool:
        return aio.current_taker() is asyncio.current_task()

    assert asyncio.run(main())
    assert aio.current_taker() == threading.get_ident()


def test_no_thread_for_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a thread for the background loop the Single fails, and the next one starts it."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    idle.end_all()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        seen = Seen().of(single_of_coroutine(where))
    assert (seen.marbles, str(seen.error)) == ("x", "can't start new thread")
    assert single_of_coroutine(where).blocking_get() == "rxagent-loop"


def test_a_single_is_awaited_once_per_await() -> None:
    """Awaiting a Single twice runs it twice."""
    runs: list[int] = []
    single = Single.from_callable(lambda: runs.append(1))

    async def main() -> None:
        await single
        await single

    asyncio.run(main())
    assert runs == [1, 1]
