"""Outlet: the door to a run's consumer. One item at a time, nothing after the end."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any, Final, Literal, final

from reactivex import Observer, abc

from .dropped import guarded

__all__ = ["Outlet"]

_Kind = Literal["next", "error", "end"]


@final
class Outlet:
    """Takes items from any thread, delivers them one at a time in the order in which they came.

        put     a--b-----c|
        drain   a----b---c|        whoever drains delivers, unless somebody is inside: then that one goes on

    on_broken: told, once, that `on_next` raised; the items that wait are dropped and the end becomes that error.
    Threads: `on_next` runs on the thread that drains, in the consumer's context.
    """

    __slots__ = ("_busy", "_context", "_items", "_lock", "_observer", "_on_broken", "_open", "raised")

    def __init__(
        self,
        observer: abc.ObserverBase[Any],
        context: contextvars.Context,
        on_broken: Callable[[BaseException], object],
    ) -> None:
        self._observer = observer
        self._context = context
        self._on_broken = on_broken
        self._lock = threading.Lock()
        self._items: list[tuple[_Kind, Any]] = []  # a few at most; an empty deque takes 760 bytes
        self._busy = False
        self._open = True
        self.raised: BaseException | None = None

    def put(self, kind: _Kind, value: Any = None) -> None:
        """Queue an item; nothing is taken after a close, an end, or, of the events, a consumer's error."""
        with self._lock:
            if self._open and not (self.raised is not None and kind == "next"):
                self._items.append((kind, value))
                self._open = kind == "next"

    def close(self) -> bool:
        """The consumer has left: drop what waits, take nothing more. True when it has not been told of an end."""
        with self._lock:
            untold = self._open or bool(self._items)
            self._open = False
            self._items.clear()
            if not self._busy:
                self._let_go()
            return untold

    def drop_partials(self) -> int:
        """Drop the partial events that wait; returns how many."""
        with self._lock:
            kept = [item for item in self._items if not (item[0] == "next" and getattr(item[1], "partial", False))]
            dropped = len(self._items) - len(kept)
            self._items = kept
            return dropped

    def drain(self) -> None:
        """Deliver what waits. Returns at once when another thread, or the consumer itself, is delivering."""
        with self._lock:
            if self._busy:
                return
            self._busy = True
        while True:
            with self._lock:
                if not self._items:
                    self._busy = False
                    if not self._open:
                        self._let_go()
                    return
                kind, value = self._items.pop(0)
            if kind == "next":
                try:
                    self._context.run(self._observer.on_next, value)
                except BaseException as error:  # never seen by the flow
                    with self._lock:
                        self.raised = error
                        self._items = [item for item in self._items if item[0] != "next"]  # an end stays
                    guarded("on_broken", self._on_broken, error)
            elif kind == "error" or self.raised is not None:
                guarded("on_error", self._context.run, self._observer.on_error, self.raised or value)
            else:
                guarded("on_completed", self._context.run, self._observer.on_completed)

    def _let_go(self) -> None:
        """Nobody is to be told any more: refer to nobody, so that an ended run is freed without the collector."""
        self._observer = _NOBODY
        self._context = contextvars.Context()
        self._on_broken = _ignore


def _ignore(_: BaseException) -> None: ...


_NOBODY: Final[Observer[Any]] = Observer()
