"""Recorder: what one playing of a scenario collects: the timeline, the requests, the gates, the triggers."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["NULL", "Gate", "Recorder"]

NULL: Any = object()
"""JSON's null as a field's value; None leaves the field out."""

Entry = dict[str, Any]


class Gate:
    """Closed until it is opened, then open for good."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self._lock = threading.Lock()
        self._waiting: list[Callable[[], object]] = []

    def when_open(self, callback: Callable[[], object]) -> None:
        """Call back on the opener's thread; at once when it is open."""
        with self._lock:
            if not self.opened.is_set():
                self._waiting.append(callback)
                return
        callback()

    def open(self) -> None:
        with self._lock:
            self.opened.set()
            waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()


class Recorder:
    """Everything that a playing leaves behind, in the order in which it happened."""

    def __init__(self, lanes: dict[str, str], spread_clock: bool = False) -> None:
        self._spread = 0.002 if spread_clock else 0.0  # seconds: events made after each other get different times
        self.timeline: list[Entry] = []
        self.requests: dict[str, list[Any]] = {}
        self.lanes = lanes
        self._gates: dict[str, Gate] = {}
        self._triggers: list[tuple[Entry, Callable[[], object]]] = []
        self._counts: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._subscribing = threading.Lock()

    @contextmanager
    def subscribing(self) -> Iterator[None]:
        """While a run is subscribed nothing else is recorded: the handle exists before the first entry."""
        with self._subscribing:
            yield

    def add(self, type: str, lane: str = "", **fields: Any) -> None:
        """One entry; fields that are None are left out. Triggers that match it run here, synchronously."""
        entry = {"t": type, **{key: _plain(value) for key, value in fields.items() if value is not None}, "_lane": lane}
        if type != "step":
            with self._subscribing:
                pass
        with self._changed:
            self.timeline.append(entry)
            due = [trigger for trigger in self._triggers if matches(entry, trigger[0])]
            self._triggers = [trigger for trigger in self._triggers if trigger not in due]
            self._changed.notify_all()
        if self._spread:
            time.sleep(self._spread)
        for _, action in due:
            action()

    def trigger(self, pattern: Entry, action: Callable[[], object]) -> None:
        """Run `action` inside the first entry with these fields."""
        self._triggers.append((pattern, action))

    def lane_of(self, agent: str | None) -> str:
        return self.lanes.get(agent or "", "")

    def count(self, key: str) -> int:
        """How often this was asked, this time included."""
        with self._changed:
            self._counts[key] += 1
            return self._counts[key]

    def gate(self, name: str) -> Gate:
        with self._changed:
            return self._gates.setdefault(name, Gate())

    def wait_for(self, pattern: Entry, seconds: float = 5.0) -> bool:
        """Wait until the timeline has an entry with these fields."""
        with self._changed:
            return self._changed.wait_for(lambda: any(matches(entry, pattern) for entry in self.timeline), seconds)

    def settle(self, seconds: float = 5.0) -> None:
        """Wait until nothing moves: no other thread of this process can run, and nothing is recorded."""
        deadline, calm, seen = time.monotonic() + seconds, 0, -1
        while calm < 3 and time.monotonic() < deadline:
            time.sleep(0.001)  # gives the others the processor; not what decides
            still = not _others_run() and len(self.timeline) == seen
            seen = len(self.timeline)
            calm = calm + 1 if still else 0


def _plain(value: Any) -> Any:
    return None if value is NULL else value


def matches(entry: Entry, pattern: Entry) -> bool:
    return all(entry.get(key) == value for key, value in pattern.items())


def _others_run() -> bool:
    """True when a thread other than this one could use a processor right now (state R, proc(5))."""
    me = str(threading.get_native_id())
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        if task.name == me:
            continue
        try:
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            continue
        if state in "RD":
            return True
    return False
