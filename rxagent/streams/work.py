"""Work: blocking code of a run as an Observable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, final

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from .mailbox import Mailbox
from .scope import CancelScope, Stopped

__all__ = ["Emit", "Work"]

T = TypeVar("T")
Emit = Callable[[T], None]


@final
class Work(Observable[T]):
    """`body(emit, scope)` runs on the mailbox's worker, once the chain below is linked.

    ::

        body    emit a--emit b--return         emit a--raise          emit a--dispose
        Work    -----a-------b-------|         -----a------x          -----a--

    `emit` passes an item down and returns when it was taken: stored, for an event of a run.

    Disposal: `emit` and every wait on `scope` raise Stopped in the body.
    Errors: what the body raises is on_error, also a Stopped of another scope.
    Threads: the mailbox's worker, `on_next` included.
    """

    def __init__(self, mailbox: Mailbox, body: Callable[[Emit[T], CancelScope], object]) -> None:
        super().__init__()
        self.mailbox = mailbox
        self._body = body

    def _subscribe_core(
        self, observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        return Disposable(self.start(observer.on_next, observer.on_error, observer.on_completed))

    def start(
        self,
        on_next: Callable[[T], object],
        on_error: Callable[[Exception], object],
        on_completed: Callable[[], object],
    ) -> Callable[[], None]:
        """Subscribe; returns the dispose. The callbacks must not raise.

        `subscribe` without its two nets, a trampoline and a detaching observer, which cost a run 10 us and each item
        a call: nothing is emitted in here, nor behind the end or the dispose.
        """
        job = _Job(self.mailbox.scope.child(), self._body, on_next, on_error, on_completed)
        self.mailbox.post(job)
        return job.scope.cancel


@final
class _Job(Generic[T]):
    """The body at work for one subscriber."""

    __slots__ = ("_body", "_on_completed", "_on_error", "_on_next", "scope")

    def __init__(
        self,
        scope: CancelScope,
        body: Callable[[Emit[T], CancelScope], object],
        on_next: Callable[[T], object],
        on_error: Callable[[Exception], object],
        on_completed: Callable[[], object],
    ) -> None:
        self.scope = scope
        self._body = body
        self._on_next = on_next
        self._on_error = on_error
        self._on_completed = on_completed

    def __call__(self) -> None:
        scope = self.scope
        try:
            scope.check()
            self._body(self._emit, scope)
            scope.check()
        except (Stopped, Exception) as error:
            if not scope.is_cancelled:
                self._on_error(error)  # type: ignore[arg-type]  # a stray Stopped is an error, else the run hangs
        else:
            self._on_completed()
        finally:
            scope.detach()

    def _emit(self, item: T) -> None:
        self.scope.check()
        self._on_next(item)
        self.scope.check()
