"""Parallel: branches of a run side by side, joined on one worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, final

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from .branch import Branch
from .ledger import Ledger
from .mailbox import Mailbox
from .scope import CancelScope

__all__ = ["Parallel"]

T = TypeVar("T")
_AHEAD: Final = 64
"""How many partial events of a branch may be under way."""


@final
class Parallel(Observable[T]):
    """Each flow in a branch of its own; its branch waits with an event until the mailbox's worker has passed it down.

    Partial events wait for nobody, as long as at most 64 of a branch are under way.

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
                    _Way(mailbox, scope, observer.on_next).take,
                    lambda error: mailbox.post(lambda: ended(error)),
                    lambda: mailbox.post(ended),
                )
            if not self._flows:
                ended()

        mailbox.post(begin)
        return Disposable(scope.cancel)


@final
class _Way:
    """The way of one branch's events to the worker below. `sent` is counted by the branch, `arrived` by the worker."""

    __slots__ = ("_arrived", "_mailbox", "_pass_down", "_scope", "_sent")

    def __init__(self, mailbox: Mailbox, scope: CancelScope, pass_down: Callable[[Any], object]) -> None:
        self._mailbox = mailbox
        self._scope = scope
        self._pass_down = pass_down
        self._sent = 0
        self._arrived = 0

    def take(self, item: Any) -> None:
        """An event of the branch, on its worker."""
        self._sent += 1
        goes_ahead = getattr(item, "partial", None) is True and self._sent - self._arrived <= _AHEAD
        (self._mailbox.send if goes_ahead else self._mailbox.relay)(self._arrive, item, self._scope)

    def _arrive(self, item: Any) -> None:
        self._arrived += 1
        self._pass_down(item)
