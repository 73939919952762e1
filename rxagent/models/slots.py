"""Slots: so many at a time, the others wait in order of arrival."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import final

from rxagent.streams.scope import CancelScope

__all__ = ["Slots"]


@final
class Slots:
    """A fair semaphore whose wait a scope can leave.

        slots=1   a--------|          b is in when a leaves; c, cancelled while it waits, takes nobody's place
        b           ......--------|
        c             ....x

    Threads: everything from any thread.
    """

    __slots__ = ("_free", "_lock", "_waiting")

    def __init__(self, count: int) -> None:
        self._free = count
        self._lock = threading.Lock()
        self._waiting: deque[SimpleQueue[bool]] = deque()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @contextmanager
    def one(self, scope: CancelScope) -> Iterator[None]:
        """Hold a slot for the block. A cancel of `scope` leaves the wait by Stopped."""
        self._take(scope)
        try:
            yield
        finally:
            self._give()

    def _take(self, scope: CancelScope) -> None:
        inbox: SimpleQueue[bool] = SimpleQueue()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            self._waiting.append(inbox)
        try:
            scope.wait(inbox)
        except BaseException:
            self._leave(inbox)
            raise

    def _leave(self, inbox: SimpleQueue[bool]) -> None:
        with self._lock:
            if inbox in self._waiting:
                self._waiting.remove(inbox)
                return
        self._give()  # the slot had just been handed over

    def _give(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().put(True)
            else:
                self._free += 1
