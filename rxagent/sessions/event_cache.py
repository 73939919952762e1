"""EventCache: what a process has read of the logs. A log only grows, so what was read stays true."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import final

from rxagent.events import Event

__all__ = ["EventCache"]

_OVERHEAD = 4000  # bytes: what a parsed event takes besides its text, about


class _Stretch:
    """Consecutive events of one session, and what each costs, in bytes."""

    __slots__ = ("cost", "costs", "events", "first")

    def __init__(self, first: int) -> None:
        self.first = first
        self.events: list[Event] = []
        self.costs: list[int] = []
        self.cost = 0


@final
class EventCache:
    """Parsed events by session and sequence number, for each session one stretch without gaps.

    limit: bytes, roughly; when it is passed, the sessions that were not used for the longest time are forgotten, and
    of a session that alone is larger the oldest events.
    A session is named by the id of its row, which no other session gets, also after a delete.
    """

    __slots__ = ("_cost", "_limit", "_lock", "_stretches")

    def __init__(self, limit: int = 128 << 20) -> None:
        self._limit = limit
        self.clear()

    def clear(self) -> None:
        """Start anew, with another lock: in a forked child the old one may be held by a thread that is not there."""
        self._lock = threading.Lock()
        self._stretches: OrderedDict[int, _Stretch] = OrderedDict()
        self._cost = 0

    def since(self, session: int, start: int, end: int | None = None) -> list[Event]:
        """The known events from number `start` on, or to `end`; empty when the first one is not known."""
        with self._lock:
            stretch = self._stretches.get(session)
            if stretch is None or not stretch.first <= start < stretch.first + len(stretch.events):
                return []
            self._stretches.move_to_end(session)
            stop = None if end is None else max(end + 1 - stretch.first, 0)
            return stretch.events[start - stretch.first : stop]

    def add(self, session: int, start: int, events: Sequence[Event], sizes: Sequence[int]) -> None:
        """Learn consecutive events from number `start` on; `sizes`: of their texts.

        They continue what is known of the session, or, when there would be a gap, replace what is shorter.
        """
        if not events:
            return
        with self._lock:
            stretch = self._stretches.get(session)
            if stretch is None or not stretch.first <= start <= stretch.first + len(stretch.events):
                if stretch is not None and len(stretch.events) > len(events):
                    return  # the longer one is worth more: a later reader fills the gap
                self._drop(session)
                stretch = self._stretches[session] = _Stretch(start)
            self._stretches.move_to_end(session)
            new = stretch.first + len(stretch.events) - start  # so many another thread has added meanwhile
            costs = [size + _OVERHEAD for size in sizes[new:]]
            stretch.events.extend(events[new:])
            stretch.costs.extend(costs)
            stretch.cost += sum(costs)
            self._cost += sum(costs)
            self._trim(stretch)

    def forget(self, session: int) -> None:
        """Forget a session that was deleted."""
        with self._lock:
            self._drop(session)

    def _drop(self, session: int) -> None:
        stretch = self._stretches.pop(session, None)
        if stretch is not None:
            self._cost -= stretch.cost

    def _trim(self, newest: _Stretch) -> None:
        while self._cost > self._limit and len(self._stretches) > 1:
            self._drop(next(iter(self._stretches)))
        count = over = 0
        while self._cost - over > self._limit:
            over += newest.costs[count]
            count += 1
        if count:
            count += (len(newest.events) - count) // 4  # some more, so that the next event does not trim again
            over = sum(newest.costs[:count])
            del newest.events[:count], newest.costs[:count]
            newest.first += count
            newest.cost -= over
            self._cost -= over
