"""Ctrl-C as a call instead of an exception."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType

from rxagent.streams import CancelScope
from rxagent.streams.workers import workers

__all__ = ["ctrl_c_cancels"]


@contextmanager
def ctrl_c_cancels() -> Iterator[CancelScope]:
    """A scope that the first Ctrl-C inside the block cancels, on a worker; the next one raises KeyboardInterrupt.

        before   |  block                      |  after
        raises   |  cancels    raises   raises |  raises

    An exception could strike between any two steps, also between the start of a run and the moment from which on it
    can be stopped; and a handler that stopped the run itself, on the main thread, could meet a lock that it holds.
    Outside of the main thread, which alone gets signals, the scope is never cancelled.
    """
    scope = CancelScope()
    if threading.current_thread() is not threading.main_thread():
        yield scope
        return
    presses: SimpleQueue[bool] = SimpleQueue()
    before = signal.getsignal(signal.SIGINT)

    def press(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        presses.put(True)  # this call alone is safe wherever the main thread may be

    def watch() -> None:
        if presses.get():
            scope.cancel("ctrl_c")

    workers.spawn(watch)
    signal.signal(signal.SIGINT, press)
    try:
        yield scope
    finally:
        signal.signal(signal.SIGINT, before)
        presses.put(False)
