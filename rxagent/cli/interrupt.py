"""Ctrl-C and SIGTERM as calls instead of an exception and a sudden end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType
from typing import Final

from rxagent.streams import CancelScope
from rxagent.streams.workers import workers

__all__ = ["REASONS", "signals_cancel"]

REASONS: Final = {signal.SIGINT: "user_stop", signal.SIGTERM: "worker_shutdown"}
"""What each signal is as the reason of an abort."""


@contextmanager
def signals_cancel() -> Iterator[CancelScope]:
    """A scope that the first Ctrl-C or SIGTERM inside the block cancels, on a worker, with the reason.

        before   |  block                      |  after
        raises   |  cancels    raises   raises |  raises

    The next Ctrl-C raises KeyboardInterrupt, the next SIGTERM does what it did before the block. An exception could
    strike between any two steps, also between the start of a run and the moment from which on it can be stopped; and a
    handler that stopped the run itself, on the main thread, could meet a lock that it holds. Outside of the main
    thread, which alone gets signals, the scope is never cancelled.
    """
    scope = CancelScope()
    if threading.current_thread() is not threading.main_thread():
        yield scope
        return
    told: SimpleQueue[str | None] = SimpleQueue()
    before = {number: signal.getsignal(number) for number in REASONS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def tell(number: int, frame: FrameType | None) -> None:
        restore()
        told.put(REASONS[signal.Signals(number)])  # this call alone is safe wherever the main thread may be

    def watch() -> None:
        if (reason := told.get()) is not None:
            scope.cancel(reason)

    workers.spawn(watch)
    for number in REASONS:
        signal.signal(number, tell)
    try:
        yield scope
    finally:
        restore()
        told.put(None)
