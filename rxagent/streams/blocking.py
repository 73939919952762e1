"""Blocking: blocking code as a cold Observable that a run may also pull in place."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any, TypeVar, final

from reactivex import Observable, abc
from reactivex.disposable import Disposable
from reactivex.scheduler import CurrentThreadScheduler

from .dropped import drop
from .scope import CancelScope, Stopped
from .workers import workers

__all__ = ["Blocking", "pull"]

T = TypeVar("T")


@final
class Blocking(Observable[T]):
    """`produce(scope)` yields the items; it blocks as it likes and leaves by Stopped when its scope is cancelled.

    ::

        produce    a--b--c|            subscribe  a--b--c|       dispose  a--b--

    Disposal: cancels the scope that `produce` was given; the generator is closed on its own thread.
    Errors: what `produce` raises is on_error; a Stopped of its own scope is silent. After the dispose errors are
    dropped and logged.
    Threads: a worker; `pull` runs it on the thread that pulls.
    """

    def __init__(self, produce: Callable[[CancelScope], Iterator[T]]) -> None:
        super().__init__()
        self._produce = produce

    def iterate(self, scope: CancelScope) -> Iterator[T]:
        """The items, produced on this thread."""
        return self._produce(scope)

    def _subscribe_core(
        self, observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        scope = CancelScope()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                items = self._produce(scope)
                try:
                    for item in items:
                        scope.check()
                        observer.on_next(item)
                        scope.check()
                finally:
                    getattr(items, "close", _nothing)()
            except Stopped as stopped:
                if not scope.is_cancelled:  # somebody else's stop is an error here
                    observer.on_error(RuntimeError(f"stopped from elsewhere: {stopped}"))
            except BaseException as error:  # a SystemExit, too, must not leave the subscriber waiting
                if scope.is_cancelled:
                    drop(error, "Blocking, after its dispose")
                else:
                    observer.on_error(error)  # type: ignore[arg-type]
                if not isinstance(error, Exception):
                    raise
            else:
                if not scope.is_cancelled:
                    observer.on_completed()

        def begin(*_: object) -> None:
            if scope.is_cancelled:
                return
            try:
                workers.spawn(work, context)
            except RuntimeError as error:  # no thread to be had
                observer.on_error(error)

        CurrentThreadScheduler.singleton().schedule(begin)
        return Disposable(scope.cancel)


def pull(source: Observable[T], scope: CancelScope) -> Iterator[T]:
    """The items of any Observable, for blocking code: a Blocking one is run in place, another one subscribed.

    Leaving the loop disposes; a cancel of `scope` leaves it by Stopped. Items that come faster than they are taken
    wait in memory.
    """
    if isinstance(source, Blocking):
        return source.iterate(scope)
    return _pull_foreign(source, scope)


def _pull_foreign(source: Observable[T], scope: CancelScope) -> Iterator[T]:
    inbox: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    handle = source.subscribe(
        lambda item: inbox.put(("next", item)),
        lambda error: inbox.put(("error", error)),
        lambda: inbox.put(("end", None)),
    )
    off = scope.on_cancel(handle.dispose)
    try:
        while True:
            entry = scope.wait(inbox)
            assert entry is not None  # no time limit
            kind, value = entry
            if kind == "next":
                yield value
            elif kind == "error":
                raise value
            else:
                return
    finally:
        off()
        handle.dispose()


def _nothing() -> None: ...
