"""Lines: the runs of one session wait for each other here, in the order in which they were subscribed."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Literal, Protocol, TypeVar, final

from rxagent.sessions import BaseSessionService, SessionKey

__all__ = ["Line", "Turn", "line_of"]

T = TypeVar("T")
Turn = Literal["new", "has", "left"]


class Waiting(Protocol):
    """A run, as its line sees it."""

    turn: Turn

    def begin(self) -> None:
        """Its turn has come. Must not block."""


@final
class Line:
    """The queue of one session. It holds runs, not threads; one run has the turn.

    A run that leaves while it waits lets nobody overtake the one that has the turn.
    """

    __slots__ = ("__weakref__", "_lock", "_waiting", "holder")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Waiting, None] = {}  # in their order
        self.holder: Waiting | None = None

    def enter(self, run: Waiting) -> None:
        """Stand at the end; `run.begin()` is called when its turn comes, perhaps now."""

        def change() -> None:
            if run.turn == "new":
                self._waiting[run] = None

        self._step(change)

    def leave(self, run: Waiting) -> None:
        """Give up the turn, or the wait for it. Twice is once."""

        def change() -> None:
            self._waiting.pop(run, None)
            if self.holder is run:
                self.holder = None
            run.turn = "left"

        self._step(change)

    def _step(self, change: Callable[[], None]) -> None:
        fresh: Waiting | None = None
        with self._lock:
            change()
            if self.holder is None and self._waiting:
                self.holder = fresh = next(iter(self._waiting))
                del self._waiting[fresh]
                fresh.turn = "has"
        if fresh is not None:
            fresh.begin()


_lock = threading.Lock()
_lines: weakref.WeakKeyDictionary[BaseSessionService, weakref.WeakValueDictionary[SessionKey, Line]] = (
    weakref.WeakKeyDictionary()
)


def line_of(service: BaseSessionService, key: SessionKey) -> Line:
    """The line of a session: one for all runners of the process that share the service."""
    with _lock:
        lines = _lines.get(service)
        if lines is None:
            lines = _lines[service] = weakref.WeakValueDictionary()
        line = lines.get(key)
        if line is None:
            line = lines[key] = Line()
        return line
