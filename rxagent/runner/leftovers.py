"""Leftovers: what runs have started and what was still there when they had ended."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, final

if TYPE_CHECKING:
    from .run import Run

__all__ = ["Leftover", "Leftovers"]

_PROC: Final = Path("/proc")
_MOST: Final = 256  # ended runs that are remembered
_TICKS: Final = 100  # of the clock in /proc, in a second


class Leftover(NamedTuple):
    """Something that outlived its run.

    kind: "work", which the run knows of and no longer waits for (a tool beyond its grace); "thread" or "process", which
    a tool has started by itself. name: the thread's, or number and name of the process; of work the run's id.
    """

    invocation_id: str
    kind: Literal["work", "thread", "process"]
    name: str


@final
class Leftovers:
    """The ended runs of a runner, as far as they may have left something.

    Threads: any.
    """

    __slots__ = ("_ended", "_lock", "_working")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._working: set[Run] = set()
        self._ended: deque[tuple[str, float, float]] = deque(maxlen=_MOST)  # id, begin and end (monotonic seconds)

    def ended(self, invocation_id: str, seconds: float) -> None:
        """A run is over; it took so long."""
        now = time.monotonic()
        self._ended.append((invocation_id, now - seconds, now))

    def note(self, run: Run) -> None:
        """A run ends by its grace, while some of its work goes on."""
        with self._lock:
            self._working.add(run)

    def forget(self, run: Run) -> None:
        """The last work of a run has ended."""
        with self._lock:
            self._working.discard(run)

    def all(self) -> list[Leftover]:
        """What is there now. Threads and processes are told by when they were started, to 10 ms, where /proc says it:
        while a run was at work, by it or beside it."""
        with self._lock:
            found = [Leftover(run.invocation.id, "work", run.invocation.id) for run in self._working]
        if ended := list(self._ended):
            found += _started_in(ended, "thread", _threads())
            found += _started_in(ended, "process", _processes())
        return found


def _started_in(
    ended: Iterable[tuple[str, float, float]], kind: Literal["thread", "process"], started: Iterable[tuple[str, float]]
) -> Iterator[Leftover]:
    for name, when in started:
        for invocation_id, began, over in ended:
            if began - 1 / _TICKS < when < over:
                yield Leftover(invocation_id, kind, name)
                break


def _threads() -> Iterator[tuple[str, float]]:
    """The threads of this process that are not our own, and when they were started."""
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.name.startswith("rxagent-"):
            when = _start_of(_PROC / "self" / "task" / str(thread.native_id) / "stat")
            if when is not None:
                yield thread.name, when[0]


def _processes() -> Iterator[tuple[str, float]]:
    """The children of this process, and when they were started."""
    try:
        names = [name for name in os.listdir(_PROC) if name.isdigit()]
    except OSError:
        return
    for name in names:
        when = _start_of(_PROC / name / "stat")
        if when is not None and when[1] == os.getpid():
            yield f"{name} ({when[2]})", when[0]


def _start_of(path: Path) -> tuple[float, int, str] | None:
    """Start (monotonic seconds), parent and name of a task; None when it is gone, ended, or nothing is told."""
    try:
        text = path.read_text(errors="replace")
        name, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        since_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        asleep = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
    except (OSError, ValueError, IndexError, AttributeError):
        return None
    return None if fields[0] == "Z" else (since_boot - asleep, int(fields[1]), name)
