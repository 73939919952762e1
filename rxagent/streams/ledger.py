"""Ledger: which work of a run is still out, so that its end is not earlier than that of its last work."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import final

from .scope import CancelScope
from .workers import workers

__all__ = ["Ledger", "current_ledger"]

current_ledger: contextvars.ContextVar[Ledger | None] = contextvars.ContextVar("rxagent_ledger", default=None)
"""The ledger of the run that this code is part of."""


@final
class Ledger:
    """Counts work: a run's worker, its branches, its coroutine tasks, its tail.

    on_empty runs once, when the last work has left, though on_empty itself may do more of it; it starts with one work
    entered, that of the opener. `strays` stops tasks that tools have started and left.
    Threads: any. on_empty runs on the thread that leaves last, or aside of it when that runs an event loop.
    """

    __slots__ = ("_aside", "_count", "_is_told", "_lock", "_on_empty", "strays")

    def __init__(self, on_empty: Callable[[], object], aside: Callable[[Callable[[], object]], object]) -> None:
        self._on_empty = on_empty
        self._aside = aside
        self._count = 1
        self._is_told = False
        self._lock = threading.Lock()
        self.strays = CancelScope()

    @property
    def count(self) -> int:
        """How much work is out."""
        return self._count

    def enter(self) -> None:
        """One more."""
        with self._lock:
            self._count += 1

    def leave(self, *, on_loop: bool = False) -> None:
        """One less. on_loop: this thread runs an event loop, where the end of a run must not be told."""
        with self._lock:
            self._count -= 1
            if self._count or self._is_told:
                return
            self._is_told = True
        if on_loop:
            self._aside(self._on_empty)
        else:
            self._on_empty()

    def part(self) -> None:
        """All is told: refer to nobody any more."""
        self._on_empty = _nothing
        self._aside = _nothing_with

    def spawn(self, job: Callable[[], object]) -> None:
        """Run `job` on a worker as work of this ledger; the job itself must call `leave`.

        Raises RuntimeError when no thread is to be had.
        """
        self.enter()
        try:
            workers.spawn(job)
        except RuntimeError:
            self.leave()
            raise


def _nothing() -> None: ...


def _nothing_with(_: object) -> None: ...
