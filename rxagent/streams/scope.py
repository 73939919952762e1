"""CancelScope: one flag, one reason, callbacks. What stops in rxagent stops by one of these."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar, final

from .dropped import drop

__all__ = ["CancelScope", "Stopped"]

T = TypeVar("T")


class Stopped(BaseException):
    """Leaves blocking code whose scope was cancelled.

    A BaseException, so that no `except Exception` of a tool or a library takes a stop for a failure. `scope` is the
    one that was cancelled: a Stopped that meets a scope which is *not* cancelled is an error like any other.
    """

    def __init__(self, scope: CancelScope) -> None:
        super().__init__(scope.reason)
        self.scope = scope


@final
class CancelScope:
    """One flag, one reason, callbacks.

        scope    ----------x            cancel("user_stop")
        waiting  ----------|Stopped
        callback ----------!            last registered, first run; each exactly once

    Threads: everything from any thread, also from inside a callback of its own; there is no lock to meet.
    `cancel` runs the callbacks on the calling thread and never waits for the work that it stops.
    """

    __slots__ = ("_callbacks", "_leave_parent", "_parent", "_reasons")

    def __init__(self) -> None:
        self._reasons: list[str] = []  # list.append decides which of two simultaneous reasons is the first
        self._callbacks: dict[_Waiting, None] = {}
        self._leave_parent: Callable[[], None] = _nothing
        self._parent: CancelScope | None = None  # asked, too: its callbacks reach the children one after the other

    @property
    def reason(self) -> str | None:
        """Why it was cancelled; None while it was not."""
        scope: CancelScope | None = self
        while scope is not None:
            if scope._reasons:
                return scope._reasons[0]
            scope = scope._parent
        return None

    @property
    def is_cancelled(self) -> bool:
        """True from the first `cancel` on, for good."""
        scope: CancelScope | None = self
        while scope is not None:
            if scope._reasons:
                return True
            scope = scope._parent
        return False

    def cancel(self, reason: str = "disposed") -> None:
        """Set the flag and run the callbacks, the newest first. A later call changes nothing.

        A callback that raises goes to `on_dropped_error`; the others run all the same.
        """
        if not self._reasons:
            self._reasons.append(self.reason or reason)
        while True:
            try:
                waiting, _ = self._callbacks.popitem()
            except KeyError:
                return
            try:
                _run(waiting.callback)
            except BaseException:  # a KeyboardInterrupt that came just here must not cost the others their stop
                self.cancel(reason)
                raise

    def on_cancel(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Run `callback` once on cancel, at once when that was earlier. Returns what takes it back."""
        waiting = _Waiting(callback, self._callbacks)
        self._callbacks[waiting] = None
        if self.is_cancelled and self._callbacks.pop(waiting, self) is None:
            _run(callback)
        return waiting

    def child(self) -> CancelScope:
        """A scope that is cancelled with this one; `detach()` it when its work has ended."""
        scope = CancelScope()
        scope._parent = self
        scope._leave_parent = self.on_cancel(scope.cancel)  # it asks the parent for the reason
        return scope

    def detach(self) -> None:
        """Part from the parent: its cancel no longer reaches this scope, and neither holds the other."""
        leave, self._leave_parent = self._leave_parent, _nothing
        leave()
        reason, self._parent = self.reason, None
        if reason is not None and not self._reasons:
            self._reasons.append(reason)  # what was seen once stays

    def check(self) -> None:
        """Raise Stopped when cancelled."""
        scope: CancelScope | None = self
        while scope is not None:  # as in `is_cancelled`, without a call: this is asked several times per event
            if scope._reasons:
                raise Stopped(self)
            scope = scope._parent

    def wait(self, inbox: SimpleQueue[T], timeout: float | None = None) -> T | None:
        """`inbox.get()` that a cancel leaves by Stopped. None when `timeout` (seconds) is over.

        One waiter an inbox: a cancel wakes it by putting None there.
        """
        if not inbox.empty():  # nobody else takes from it: no wait, and nothing to be woken from
            self.check()
            arrived = inbox.get_nowait()
            self.check()
            return arrived
        take_back = self.on_cancel(lambda: inbox.put(None))  # type: ignore[arg-type]
        try:
            self.check()
            item = inbox.get(timeout=timeout)
        except Empty:
            item = None
        finally:
            take_back()
        self.check()
        return item

    def sleep(self, seconds: float) -> None:
        """Sleep; a cancel leaves it by Stopped."""
        self.wait(SimpleQueue(), seconds)

    def __repr__(self) -> str:
        return f"<CancelScope {f'cancelled: {self.reason}' if self.is_cancelled else 'open'}>"


@final
class _Waiting:
    """A callback that waits for the cancel; to call this takes it back. One object, as a run has many."""

    __slots__ = ("_among", "callback")

    def __init__(self, callback: Callable[[], object], among: dict[_Waiting, None]) -> None:
        self.callback = callback
        self._among = among

    def __call__(self) -> None:
        self._among.pop(self, None)


def _nothing() -> None: ...


def _run(callback: Callable[[], object]) -> None:
    try:
        callback()
    except Exception as error:
        drop(error, "cancel callback")
