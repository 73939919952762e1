"""Parallel: branches of a run side by side, joined on one worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, final

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from .branch import Branch
from .ledger import Ledger
from .mailbox import Mailbox

__all__ = ["Parallel"]

T = TypeVar("T")


@final
class Parallel(Observable[T]):
    """Each flow in a branch of its own; an event of a branch waits until the mailbox's worker has passed it down.

    ::

        flow 1      --a-----b--|          --a-----b--
        flow 2      ----c------d--|       ----x
        Parallel    --a-c---b--d--|       --a-x

    Disposal: stops all branches.
    Errors: the first one stops the others.
    Threads: downstream is called on the mailbox's worker only.
    """

    def __init__(self, mailbox: Mailbox, ledger: Ledger, flows: Sequence[Callable[[Mailbox], Observable[T]]]) -> None:
        super().__init__()
        self._mailbox = mailbox
        self._ledger = ledger
        self._flows = flows

    def _subscribe_core(
        self, observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        mailbox = self._mailbox
        scope = mailbox.scope.child()
        running = len(self._flows)

        def ended(error: Exception | None = None) -> None:  # on the mailbox's worker
            nonlocal running
            running -= 1
            if scope.is_cancelled:
                return
            if error is not None:
                scope.detach()
                scope.cancel("a parallel branch failed")
                observer.on_error(error)
            elif running <= 0:
                scope.detach()
                observer.on_completed()

        def begin() -> None:
            for flow in self._flows:
                Branch(self._ledger, scope, flow).subscribe(
                    lambda item: mailbox.relay(observer.on_next, item, scope),
                    lambda error: mailbox.post(lambda: ended(error)),
                    lambda: mailbox.post(ended),
                )
            if not self._flows:
                ended()

        mailbox.post(begin)
        return Disposable(scope.cancel)
