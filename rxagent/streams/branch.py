"""Branch: part of a run on a worker of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, final

from reactivex import Observable, abc
from reactivex.disposable import Disposable, SerialDisposable
from reactivex.scheduler import CurrentThreadScheduler

from .ledger import Ledger
from .mailbox import Mailbox
from .scope import CancelScope

__all__ = ["Branch"]

T = TypeVar("T")


@final
class Branch(Observable[T]):
    """`flow(mailbox)` on a worker and a mailbox of its own: parallel agents, agents as tools, blocking tools abreast.

    ::

        flow      --a--b--|        --a--x        --a--dispose
        Branch    --a--b--|        --a--x        --a--

    Disposal: cancels the branch's scope; its worker leaves when its blocking code does, and the ledger waits for it.
    Errors: those of the flow; no thread to be had is a RuntimeError.
    Threads: downstream is called on the branch's worker.
    """

    def __init__(self, ledger: Ledger, scope: CancelScope, flow: Callable[[Mailbox], Observable[T]]) -> None:
        super().__init__()
        self._ledger = ledger
        self._scope = scope
        self._flow = flow

    def _subscribe_core(
        self, observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        scope = self._scope.child()
        mailbox = Mailbox(scope)
        upstream = SerialDisposable()
        scope.on_cancel(upstream.dispose)

        def end(error: Exception | None = None) -> None:
            if error is not None:
                observer.on_error(error)
            else:
                observer.on_completed()
            mailbox.end()

        def start() -> None:
            scope.check()
            upstream.disposable = self._flow(mailbox).subscribe(
                lambda item: mailbox.relay(observer.on_next, item),
                lambda error: mailbox.relay(end, error),
                lambda: mailbox.relay(end, None),
            )

        def work() -> None:
            try:
                mailbox.serve(start)
            except BaseException as error:  # a tool's SystemExit, too, must not leave the parent waiting
                if not scope.is_cancelled:
                    observer.on_error(error)  # type: ignore[arg-type]
            finally:
                scope.detach()
                self._ledger.leave()

        def begin(*_: object) -> None:
            if scope.is_cancelled:
                return
            try:
                self._ledger.spawn(work)
            except RuntimeError as error:
                scope.detach()
                observer.on_error(error)

        CurrentThreadScheduler.singleton().schedule(begin)
        return Disposable(scope.cancel)
