"""Leaks: does a piece of code leave threads, sockets or files behind?"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rxagent.streams import idle
from rxagent.streams.workers import workers

__all__ = ["LeakError", "no_leaks", "quiesce"]

_DESCRIPTORS = Path("/proc/self/fd")


class LeakError(AssertionError):
    """Raised when something that a block started is still there after it."""


def quiesce() -> None:
    """End what rxagent keeps for the next use: idle workers, keeper, watcher, timer, background loop.

    All of these are daemon threads named `rxagent-*` and start again when they are needed. What is at work is left
    alone. Returns when they are gone.
    """
    idle.end_all()
    workers.end_idle()


@contextmanager
def no_leaks(wait: float = 5.0) -> Iterator[None]:
    """Raise LeakError when the block leaves a thread or a descriptor behind.

    wait: seconds that what is just ending may still take. Both sides of the comparison are taken after `quiesce`.
    Descriptors are compared where the system shows them in /proc, so on Linux; threads everywhere. A block that
    raises is not compared: its own error says more.

    ::

        with no_leaks():
            list(runner.run("me", "s1", "Hi"))
    """
    quiesce()
    before = _Standing()
    yield
    found = _settled(before, wait)
    if found:
        raise LeakError("left behind: " + "; ".join(found))


def _settled(before: _Standing, wait: float) -> list[str]:
    """What is there and was not before, once that is nothing or the wait is over."""
    deadline = time.monotonic() + wait
    pause = 0.001
    collected = False
    while True:
        quiesce()
        found = _Standing().beyond(before)
        if not found or time.monotonic() > deadline:
            return found
        if not collected and pause > 0.01:
            gc.collect()  # what only a cycle holds is no leak
            collected = True
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


class _Standing:
    """The threads and descriptors of this process at one moment."""

    __slots__ = ("descriptors", "threads")

    def __init__(self) -> None:
        self.threads = {thread for thread in threading.enumerate() if thread.is_alive()}
        self.descriptors = _descriptors()

    def beyond(self, before: _Standing) -> list[str]:
        """What stands here and did not stand before, in words."""
        grown = Counter(self.descriptors.values()) - Counter(before.descriptors.values())
        files = [
            f"descriptor {number} ({target})"
            for number, target in sorted(self.descriptors.items())
            if target in grown and before.descriptors.get(number) != target
        ]
        return [_described(thread) for thread in self.threads - before.threads] + files


def _descriptors() -> dict[int, str]:
    """Number and target of each open descriptor; empty where the system does not show them."""
    try:
        names = os.listdir(_DESCRIPTORS)
    except OSError:
        return {}
    found = {}
    for name in names:
        try:
            found[int(name)] = os.readlink(_DESCRIPTORS / name)
        except OSError:  # closed since, as the one that listed the folder
            continue
    return found


def _described(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    where = ""
    if frame is not None:
        calls = traceback.extract_stack(frame)[-3:]
        where = ", at " + " > ".join(f"{Path(call.filename).name}:{call.lineno} {call.name}" for call in calls)
    return f"thread {thread.name!r}{where}"
