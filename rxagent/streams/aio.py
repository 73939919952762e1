"""asyncio, and the place of rxagent that touches it (strays.py belongs to it): loops, tasks, cancelling, waiting.

Coroutines of a run (tools, callbacks, services) run on the event loop that was running when the run was subscribed,
else on one background loop of the process. While a blocking wait of ours occupies a loop's thread, coroutines go to
the background loop; a wait for a coroutine that is already on the occupied loop is refused.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import threading
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from reactivex import Observable

from rxagent.errors import UsageError

from . import idle
from .blocking import Blocking
from .dropped import as_raised
from .ledger import Ledger, current_ledger
from .scope import CancelScope
from .single import Single, SingleEmitter
from .strays import owns_strays

__all__ = [
    "Loop",
    "LoopInbox",
    "awaitable",
    "blocking_wait",
    "current_taker",
    "home_loop",
    "in_thread",
    "on_loop_thread",
    "running_loop",
    "single_of_awaitable",
    "single_of_coroutine",
]

T = TypeVar("T")
Loop = asyncio.AbstractEventLoop

home_loop: contextvars.ContextVar[Loop | None] = contextvars.ContextVar("rxagent_loop", default=None)
"""The loop for the coroutines of the run that this code is part of; nested runs inherit it."""


class _Background:
    """The loop of the process for coroutines that have no other, on a daemon thread `rxagent-loop`."""

    def __init__(self) -> None:
        self._loop: Loop | None = None
        self._thread: threading.Thread | None = None

    @property
    def loop(self) -> Loop | None:
        return self._loop

    def get(self) -> Loop:
        """The running loop; started when there is none, also in a forked child. With the lock held."""
        if self._loop is None or self._thread is None or not self._thread.is_alive():
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=self._serve, args=(loop,), daemon=True, name="rxagent-loop")
            try:
                thread.start()
            except RuntimeError:
                loop.close()
                raise
            self._loop, self._thread = loop, thread
        return self._loop

    @staticmethod
    def _serve(loop: Loop) -> None:
        while True:
            try:
                loop.run_forever()
                break
            except (KeyboardInterrupt, SystemExit):
                continue  # a task raised it, and keeps it as its error; the other tasks need the loop
        loop.close()

    def end(self) -> None:
        """Stop the loop and wait for its thread, unless a coroutine is under way; the next `get` starts another."""
        with _lock:
            if any(loop is self._loop for loop, _ in _tasks):
                return
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None and thread.is_alive():
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


_background = _Background()
idle.register(_background.end)

_lock = threading.Lock()
_blocked: Counter[Loop] = Counter()  # loops whose thread waits in blocking code of ours
_tasks: Counter[tuple[Loop, Ledger | None]] = Counter()  # coroutines under way, by loop and run


def _forget() -> None:
    global _lock
    _lock = threading.Lock()
    _blocked.clear()
    _tasks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)  # another thread may have held the lock, and is not there


def running_loop() -> Loop | None:
    """The loop that runs on this thread."""
    return asyncio._get_running_loop()


def on_loop_thread() -> bool:
    """True when this thread runs a loop."""
    return asyncio._get_running_loop() is not None


def current_taker() -> object:
    """Who runs here: the asyncio task, else the thread."""
    if asyncio._get_running_loop() is not None:
        return asyncio.current_task()
    return threading.get_ident()


async def in_thread(function: Callable[..., T], *args: Any) -> T:
    """Run blocking code on a worker and await it."""

    def produce(_: CancelScope) -> Iterator[T]:
        yield function(*args)

    return await awaitable(Blocking(produce))


class LoopInbox(Generic[T]):
    """Items from any thread for one task of the loop that runs here."""

    def __init__(self) -> None:
        self.loop: Loop = asyncio.get_running_loop()
        self._items: deque[T] = deque()
        self._ready = asyncio.Event()

    def _put(self, item: T) -> None:
        self._items.append(item)
        self._ready.set()

    def put_threadsafe(self, scope: CancelScope) -> Callable[[T], None]:
        """A put for any thread; it cancels `scope` when the loop is closed and nobody will take the item."""

        def put(item: T) -> None:
            try:
                self.loop.call_soon_threadsafe(self._put, item)
            except RuntimeError:
                scope.cancel("the loop was closed")

        return put

    async def get(self, timeout: float | None = None) -> T | None:
        """Wait for the next item and take it; None when `timeout` (seconds) is over."""
        if self._items:
            return self._items.popleft()
        try:
            async with asyncio.timeout(timeout):
                while not self._items:
                    self._ready.clear()
                    await self._ready.wait()
        except TimeoutError:
            return None
        return self._items.popleft()


def _reserve(loop: Loop | None, ledger: Ledger | None) -> Loop:
    """Count a coroutine on its loop. The choice of the loop and the count are one act: a blocking wait that begins
    meanwhile either sees the coroutine or is seen. Raises RuntimeError when no thread is to be had."""
    home = home_loop.get()
    with _lock:
        if loop is None:
            is_free = home is not None and home.is_running() and not _blocked[home]
            loop = home if home is not None and is_free else _background.get()
        _tasks[loop, ledger] += 1
        return loop


@contextmanager
def blocking_wait(ledger: Ledger | None) -> Iterator[None]:
    """Around every blocking wait for a run: tells this thread's loop that it stands still.

    Raises UsageError at once where the wait could never end: on the background loop, or when a coroutine of the run
    is under way on this very loop.
    """
    loop = asyncio._get_running_loop()
    if loop is None:
        yield
        return
    if loop is _background.loop:
        raise UsageError("this would block the loop that coroutines run on; use `await` or `async for` here")
    with _lock:
        _blocked[loop] += 1
        waits_for_itself = ledger is not None and _tasks[loop, ledger] > 0
    try:
        if waits_for_itself:
            raise UsageError(
                "this blocks the event loop on which a coroutine of the run is under way; use `await` or `async for`"
            )
        yield
    finally:
        with _lock:
            _blocked[loop] -= 1
            if not _blocked[loop]:
                del _blocked[loop]


def _submit(
    at: Loop | None,
    make: Callable[[], Coroutine[Any, Any, T]],
    done: Callable[[T | None, BaseException | None], object],
    unused: Callable[[], object],
) -> Callable[[], None]:
    """Run a coroutine as a task, in a copy of this context. `done(value, error)` once, when it has *ended*.

    at: the loop; None: that of the run, else the background loop. unused: called when it is cancelled before `make`.
    Returns a cancel for any thread: the task ends when its own cleanup has, not at the cancel.
    """
    ledger = current_ledger.get()
    tasks: list[asyncio.Task[T]] = []
    cancelled: list[bool] = []
    loop = _reserve(at, ledger)
    if ledger is not None:
        ledger.enter()

    def end(value: T | None, error: BaseException | None) -> None:
        with _lock:
            _tasks[loop, ledger] -= 1
            if not _tasks[loop, ledger]:
                del _tasks[loop, ledger]
        try:
            done(value, error)
        finally:
            if ledger is not None:
                ledger.leave(on_loop=True)

    def ended(task: asyncio.Task[T]) -> None:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        end(None if error is not None else task.result(), error)

    def begin() -> None:
        if cancelled:
            unused()
            end(None, asyncio.CancelledError())
            return
        try:
            tasks.append(loop.create_task(make()))
        except Exception as error:  # the maker raised, or made no coroutine
            end(None, error)
        else:
            tasks[0].add_done_callback(ended)

    def cancel() -> None:
        cancelled.append(True)
        with suppress(RuntimeError):  # the loop is closed: asyncio.run has cancelled the task
            loop.call_soon_threadsafe(lambda: tasks and tasks[0].cancel())

    try:
        loop.call_soon_threadsafe(begin)  # in a copy of this context, and so the task
    except RuntimeError as error:
        end(None, error)
    return cancel


def _nothing() -> None: ...


def single_of_coroutine(
    make: Callable[[], Coroutine[Any, Any, T]], ended: Callable[[], object] = _nothing
) -> Single[T]:
    """A coroutine as a Single: each subscription makes and runs one.

    ended: called on its loop when it has ended, or was cancelled before its first step; also after a dispose.
    Tasks that it starts and leaves are the run's (strays.py): they are cancelled when the run ends.

    Disposal: cancels the task. Errors: the coroutine's; a cancel by somebody else is a RuntimeError.
    Threads: the loop of the run that subscribes, else the background loop; it counts as the run's work until its
    task has ended.
    """
    return _single(owns_strays(make), None, ended=ended)


def single_of_awaitable(value: Awaitable[T]) -> Single[T]:
    """An awaitable (a coroutine, an asyncio Future, ...) as a Single, for one subscription; else as the above."""
    if inspect.iscoroutine(value):
        return _single(lambda: value, None, value.close)  # its own task: cancelled before its first step, it is closed

    async def wait() -> T:
        return await value

    return _single(wait, getattr(value, "get_loop", None))


def _single(
    make: Callable[[], Coroutine[Any, Any, T]],
    get_loop: Callable[[], Loop] | None,
    unused: Callable[[], object] = _nothing,
    ended: Callable[[], object] = _nothing,
) -> Single[T]:
    def start(emitter: SingleEmitter[T]) -> None:
        def done(value: Any, error: BaseException | None) -> None:
            ended()
            if error is None:
                emitter.on_success(value)
            elif not emitter.is_disposed:
                emitter.on_error(_as_error(error))

        emitter.set_cancellable(_submit(get_loop() if get_loop else None, make, done, unused))

    return Single(start)


def _as_error(error: BaseException) -> Exception:
    if isinstance(error, Exception):
        return error
    wrapped = RuntimeError(f"a coroutine was left by {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped


async def awaitable(source: Observable[T]) -> T:
    """The last value of an Observable, for `await`; cancelling the task disposes.

    Raises the stream's error; UsageError when it ends without a value. (The inherited `__await__` of Observable sets
    the future on the emitting thread, where the loop does not notice.)
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    values: list[T] = []

    def settle(error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(as_raised(error))
        elif values:
            future.set_result(values[-1])
        else:
            future.set_exception(UsageError("the stream ended without a value"))

    def tell(error: BaseException | None = None) -> None:
        with suppress(RuntimeError):  # the loop is closed; nobody waits
            loop.call_soon_threadsafe(settle, error)

    handle = source.subscribe(values.append, tell, tell)
    try:
        return await future
    finally:
        handle.dispose()
