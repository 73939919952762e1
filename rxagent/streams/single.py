"""Single: an Observable of exactly one value, built with an emitter that can be told how to cancel."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Generator
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, final

from reactivex import Observable, abc
from reactivex.disposable import Disposable, SingleAssignmentDisposable
from reactivex.scheduler import CurrentThreadScheduler

from rxagent.errors import UsageError

from .dropped import drop, guarded
from .scope import CancelScope
from .workers import workers

__all__ = ["Single", "SingleEmitter"]

T = TypeVar("T")
U = TypeVar("U")


@final
class SingleEmitter(Generic[T]):
    """The producer's side of a Single: one value or one error, from any thread.

        on_success  --v|        on_error  --x        dispose  --!cancel

    After the end or a dispose a further value is ignored; a further error goes to `on_dropped_error`.
    """

    __slots__ = ("_cancel", "_lock", "_observer", "_state")

    def __init__(self, observer: abc.ObserverBase[T]) -> None:
        self._observer: abc.ObserverBase[T] | None = observer
        self._cancel: Callable[[], object] | None = None
        self._state = "open"  # open -> done | disposed
        self._lock = threading.Lock()

    @property
    def is_disposed(self) -> bool:
        """True when nobody waits for the value any more."""
        return self._state == "disposed"

    def set_cancellable(self, cancel: Callable[[], object]) -> None:
        """Run `cancel` once when the Single is disposed before its end; at once when it is disposed already."""
        with self._lock:
            if self._state == "open":
                self._cancel = cancel
                return
            disposed = self._state == "disposed"
        if disposed:
            guarded("cancel action", cancel)

    def on_success(self, value: T) -> None:
        """Give the value and end."""
        observer = self._end("done")
        if observer is None:
            return
        try:
            observer.on_next(value)
        except Exception as error:  # the consumer's own
            observer.on_error(error)
        else:
            observer.on_completed()

    def on_error(self, error: Exception) -> None:
        """Fail."""
        observer = self._end("done")
        if observer is not None:
            observer.on_error(error)
        else:
            drop(error, "Single, after its end")

    def _end(self, state: str) -> abc.ObserverBase[T] | None:
        with self._lock:
            if self._state != "open":
                return None
            self._state = state
            observer, self._observer = self._observer, None
            if state == "done":
                self._cancel = None
            return observer

    def dispose(self) -> None:
        """Stop waiting: run the cancel action, unless the end came first."""
        if self._end("disposed") is None:
            return
        cancel, self._cancel = self._cancel, None
        if cancel is not None:
            guarded("cancel action", cancel)


@final
class Single(Observable[T]):
    """An Observable of exactly one value: `--v|`, or an error.

    Build one with `create`, `just`, `error`, `from_callable` or `of`. It is cold: each subscription starts the work
    again. For more operators use `pipe`; the result is then a plain Observable.

    Disposal: the emitter is disposed and its cancel action runs once, on the disposing thread.
    Errors: what the start function raises is the Single's error; so is what the consumer's on_next raises.
    Threads: the start function runs on the subscriber's thread, after the chain below it is linked.
    """

    def __init__(self, start: Callable[[SingleEmitter[T]], object]) -> None:
        super().__init__()
        self._start = start

    @staticmethod
    def create(start: Callable[[SingleEmitter[U]], object]) -> Single[U]:
        """`start(emitter)` begins the work and tells by `emitter.set_cancellable` how to stop it."""
        return Single(start)

    @staticmethod
    def just(value: U) -> Single[U]:
        """This value."""
        return Single(lambda emitter: emitter.on_success(value))

    @staticmethod
    def error(error: Exception) -> Single[Any]:
        """This error."""
        return Single(lambda emitter: emitter.on_error(error))

    @staticmethod
    def from_callable(function: Callable[[], U]) -> Single[U]:
        """What the function returns, called on the subscriber's thread for each subscription."""
        return Single(lambda emitter: emitter.on_success(function()))

    @staticmethod
    def of(source: Observable[U]) -> Single[U]:
        """The one value of an Observable: a second one, or an end without one, is an error (UsageError).

        ::

            source   --v--|     --|      --v--w--
            of       -----v|    --x      -----x
        """

        def start(emitter: SingleEmitter[U]) -> None:
            values: list[U] = []
            handle = SingleAssignmentDisposable()  # there before the first value: some sources emit in subscribe

            def on_next(value: U) -> None:
                values.append(value)
                if len(values) > 1:
                    emitter.on_error(UsageError("a Single's source gave a second value; take the first or the last"))
                    handle.dispose()

            def on_completed() -> None:
                if values:
                    emitter.on_success(values[0])
                else:
                    emitter.on_error(UsageError("a Single's source ended without a value; give it a default"))

            emitter.set_cancellable(handle.dispose)
            handle.disposable = source.subscribe(on_next, emitter.on_error, on_completed)

        return Single(start)

    def map(self, function: Callable[[T], U]) -> Single[U]:
        """This Single with its value changed."""

        def start(emitter: SingleEmitter[U]) -> None:
            def on_next(value: T) -> None:
                try:
                    result = function(value)
                except Exception as error:
                    emitter.on_error(error)
                else:
                    emitter.on_success(result)

            emitter.set_cancellable(self.subscribe(on_next, emitter.on_error).dispose)

        return Single(start)

    def blocking_get(self, scope: CancelScope | None = None, timeout: float | None = None) -> T:
        """Subscribe and wait for the value; raises its error.

        scope: a cancel leaves the wait by Stopped. timeout: seconds, then TimeoutError. Leaving disposes.
        Threads: subscribes here; inside of another subscribe, where a plain tool's code runs, on a worker: what starts
        there starts only when that subscribe returns, and it would wait for this wait.
        """
        inbox: SimpleQueue[tuple[bool, Any]] = SimpleQueue()
        handle = SingleAssignmentDisposable()

        def begin() -> None:
            handle.disposable = self.subscribe(
                lambda value: inbox.put((True, value)), lambda error: inbox.put((False, error))
            )

        if CurrentThreadScheduler.singleton().schedule_required():
            begin()
        else:
            workers.spawn(begin, contextvars.copy_context())
        try:
            item = (scope or CancelScope()).wait(inbox, timeout)
        finally:
            handle.dispose()
        if item is None:
            raise TimeoutError(f"no value within {timeout} s")
        good, value = item
        if good:
            return value  # type: ignore[no-any-return]
        raise value

    def begin(self, on_success: Callable[[T], object], on_error: Callable[[Exception], object]) -> Callable[[], None]:
        """Start at once on this thread, for blocking code: it has no chain to be linked first. Returns the dispose."""
        emitter = SingleEmitter[T](_Taker(on_success, on_error))  # type: ignore[arg-type]  # all that an emitter calls
        self._begin(emitter)
        return emitter.dispose

    def _begin(self, emitter: SingleEmitter[T]) -> None:
        if emitter.is_disposed:
            return
        try:
            self._start(emitter)
        except Exception as error:
            emitter.on_error(error)

    def __await__(self) -> Generator[Any, None, T]:
        """Await the value; cancelling the task disposes."""
        from .aio import awaitable  # aio knows Single

        return awaitable(self).__await__()

    def _subscribe_core(
        self, observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        emitter = SingleEmitter(observer)
        CurrentThreadScheduler.singleton().schedule(lambda *_: self._begin(emitter))
        return Disposable(emitter.dispose)


@final
class _Taker(Generic[T]):
    """An observer without a chain behind it."""

    __slots__ = ("on_error", "on_next")

    def __init__(self, on_next: Callable[[T], object], on_error: Callable[[Exception], object]) -> None:
        self.on_next = on_next
        self.on_error = on_error

    def on_completed(self) -> None: ...
