"""Iteration: a stream as a blocking iterator; and Door, what a taker hands down to the run behind its pipe."""

from __future__ import annotations

import contextvars
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeAlias, TypeVar, final

from . import aio, idle
from .dropped import as_raised
from .ledger import Ledger
from .scope import CancelScope, Stopped

__all__ = ["Door", "Give", "Iteration", "current_door", "enclosing_scopes"]

T = TypeVar("T")
_ASK_AGAIN = 0.05  # seconds; only while the awaited run waits for the one before it
_AHEAD: Final = 64
"""How many partial items may be on their way to the taker: two changes of threads for each of them would cost 12 us,
half of a streamed chunk's whole price."""
Give: TypeAlias = Callable[[tuple[str, Any]], None]

enclosing_scopes: contextvars.ContextVar[tuple[CancelScope, ...]] = contextvars.ContextVar(
    "rxagent_enclosing", default=()
)
"""The scopes of the runs that this code is part of: a blocking wait inside a tool stops with its run."""


@final
class Door:
    """What a bridge hands down to the run that it opens, by a contextvar, before there is a subscription.

    scope: cancelling it disposes the run. loop: where the run's coroutines go. blocks: the taker blocks its thread.
    taker: the thread or task that takes the items. is_starving: an item is there, and the run stands still until
    there is room for it. is_complete: the stream has ended by itself, and all of it was given. before_wait: set by the
    run; raises UsageError where waiting for it would be waiting for oneself, and is True while that can still become
    so. wake: set by the bridge; lets the taker ask that again.

    ::

        p  partial      given  F1  |F2           given  F1  |p1 p2 ... p64  |p65         given  p1 p2  |F
        F  any other    taken   F1-'             taken   F1-'           p1---'           taken   p1 p2-'

    An item is given when all before it are taken: one is on its way at a time. Partial ones may follow each other, at
    most 64 on their way. So a slow taker holds the run back, as soon as it matters: at each event that is stored.
    """

    __slots__ = (
        "_before_wait",
        "_given",
        "_is_abandoned",
        "_is_starving",
        "_last_whole",
        "_leave",
        "_moved",
        "_taken",
        "blocks",
        "is_complete",
        "is_free",
        "ledger",
        "loop",
        "scope",
        "taker",
        "wake",
    )

    def __init__(self, loop: aio.Loop | None = None, *, blocks: bool = False) -> None:
        self.scope = CancelScope()
        self.loop = loop
        self.blocks = blocks
        self.is_complete = False
        self.is_free = False
        self._given = 0
        self._taken = 0
        self._last_whole = 0  # the number of the last item given that was not partial
        self._moved: SimpleQueue[Any] = SimpleQueue()  # wakes a run that stands still
        self.ledger: Ledger | None = None
        self.wake: Callable[[], object] | None = None
        self._before_wait: Callable[[], bool] | None = None
        self._is_starving = False
        self._is_abandoned = False
        self.taker: object = aio.current_taker()
        self._leave: list[Callable[[], None]] = []

    @property
    def before_wait(self) -> Callable[[], bool] | None:
        """The run's answer to whoever is about to wait for it."""
        return self._before_wait

    @before_wait.setter
    def before_wait(self, ask: Callable[[], bool] | None) -> None:
        self._before_wait = ask
        if ask is not None and self.wake is not None:
            self.wake()  # behind a pipe the run may come later than the wait for it

    @property
    def is_starving(self) -> bool:
        """True while the run stands still for its taker, who has not left."""
        return self._is_starving and not self._is_abandoned and not self.scope.is_cancelled

    def leave_with(self, owner: object) -> None:
        """Dispose the run when `owner` is dropped. Nothing that the run refers to may refer to `owner`."""
        weakref.finalize(owner, self.abandon).atexit = False
        _reaper.start()

    def abandon(self) -> None:
        """Who takes the items was dropped. In a finalizer: perhaps inside anybody's lock."""
        self._is_abandoned = True
        if not self.scope.is_cancelled:
            _reaper.dropped.put(self.scope)

    def let_go(self) -> None:
        """A stopped run no longer waits for its taker."""
        self.is_free = True
        self._moved.put(True)

    def take_part(self) -> None:
        """Be stopped with the runs that the taker is part of, until `close`."""
        self._leave = [scope.on_cancel(self.scope.cancel) for scope in enclosing_scopes.get()]

    def patience(self) -> float | None:
        """Seconds to wait before asking again; None: as long as it takes. Raises UsageError for a wait for oneself."""
        ask = self.before_wait  # looked at once: a run that has ended takes it away, on its own thread
        return _ASK_AGAIN if ask is not None and ask() else None

    def took(self) -> None:
        """The taker's side: the next item was taken."""
        self._taken += 1
        if self._is_starving:
            self._moved.put(True)

    def await_room(self, item: object) -> None:
        """The run's side: stand still until this item may come. A cancel of the door leaves by Stopped.

        A loop's thread does not stand still (the taker may need it): what comes there waits in memory.
        """
        self.scope.check()
        is_partial = getattr(item, "partial", None) is True
        needed = max(self._last_whole, self._given - _AHEAD + 1) if is_partial else self._given
        if self._taken < needed and not self.is_free and not aio.on_loop_thread():
            self._stand_still(needed)
        self._given += 1
        if not is_partial:
            self._last_whole = self._given

    def _stand_still(self, needed: int) -> None:
        """Until so many items were taken."""
        self._is_starving = True  # before the look: a taker that comes in between sees it
        try:
            while self._taken < needed and not self.is_free:
                self.scope.wait(self._moved)
        finally:
            self._is_starving = False

    def close(self) -> None:
        """The taker has left: dispose the run, unless it has ended."""
        for leave in self._leave:
            leave()
        self._leave = []
        self.ledger = None
        self.scope.cancel()


current_door: contextvars.ContextVar[Door | None] = contextvars.ContextVar("rxagent_door", default=None)
"""The door of the bridge that is subscribing right now."""


class _Reaper:
    """Disposes what a dropped iterator had open. A finalizer may run inside anybody's lock, so it only queues here."""

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self.dropped: SimpleQueue[CancelScope | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(
                    target=contextvars.Context().run, args=(self._serve,), daemon=True, name="rxagent-reaper"
                )
                thread.start()  # may fail; then the next one tries again
                self._thread = thread

    def _serve(self) -> None:
        while (scope := self.dropped.get()) is not None:
            scope.cancel("dropped")

    def end(self) -> None:
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self.dropped.put(None)
            thread.join()


_reaper = _Reaper()
idle.register(_reaper.end)


@final
class Iteration(Generic[T]):
    """A blocking iterator over a stream; it subscribes at the first `next`.

    Left by break, close, garbage collection or KeyboardInterrupt it disposes. Inside a tool it stops with the run
    that the tool is part of. `next` raises UsageError where it would wait for itself.
    """

    __slots__ = ("__weakref__", "_door", "_items", "_open", "_state")

    def __init__(self, open: Callable[[Give, Door], None]) -> None:
        self._open = open
        self._items: SimpleQueue[tuple[str, Any] | None] = SimpleQueue()
        self._state = "new"  # new -> open -> closed
        self._door = Door(blocks=True)
        self._door.wake = partial(self._items.put, None)
        _reaper.start()

    def __del__(self) -> None:
        self._door.abandon()

    def __iter__(self) -> Iteration[T]:
        return self

    def __next__(self) -> T:
        if self._state == "closed":
            raise StopIteration
        try:
            item = self._at_hand() or self._awaited()
        except Stopped:
            self.close()
            for scope in enclosing_scopes.get():
                scope.check()
            raise StopIteration from None
        except BaseException:  # KeyboardInterrupt, UsageError
            self.close()
            raise
        kind, value = item
        if kind == "next":
            self._door.took()
            return value  # type: ignore[no-any-return]
        self.close()
        if kind == "error":
            raise as_raised(value)
        raise StopIteration

    def _at_hand(self) -> tuple[str, Any] | None:
        """What has come already: no wait, so that there is nothing to refuse."""
        if self._items.empty():  # nobody else takes from it
            return None
        if not self._door.is_complete:
            self._door.scope.check()
        self._door.taker = aio.current_taker()
        return self._items.get_nowait()

    def _awaited(self) -> tuple[str, Any]:
        with aio.blocking_wait(self._door.ledger):
            if self._state == "new":
                self._state = "open"
                self._door.take_part()
                self._door.scope.on_cancel(partial(self._items.put, None))
                self._open(self._items.put, self._door)
            self._door.taker = aio.current_taker()
            while True:
                if self._items.empty():
                    self._door.scope.check()
                with suppress(Empty):
                    item = self._items.get(timeout=self._door.patience())
                    self._check()
                    if item is not None:
                        return item

    def _check(self) -> None:
        """Raise Stopped when the door was cancelled, unless the stream had ended before: `take` leaves its run so."""
        if not self._door.is_complete:
            self._door.scope.check()

    def close(self) -> None:
        """Leave: dispose, unless the stream has ended. Twice is once."""
        self._state = "closed"
        self._door.close()

    def __enter__(self) -> Iteration[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
