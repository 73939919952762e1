"""One thread and one heap for all deadlines of the process."""

from __future__ import annotations

import contextvars
import heapq
import itertools
import os
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from . import idle
from .dropped import drop, guarded
from .workers import workers

__all__ = ["Timer", "timer"]

_Job = Callable[[], object]


class Timer:
    """Runs jobs later, each on a worker; its own thread, `rxagent-timer`, only watches the clock.

    The thread starts with the first deadline and ends when there is none for a while.
    """

    def __init__(self, idle_seconds: float = 10.0) -> None:
        self._idle_seconds = idle_seconds
        self._count = itertools.count()
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._heap: list[list[Any]] = []
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def after(self, seconds: float, job: _Job, context: contextvars.Context | None = None) -> Callable[[], None]:
        """Run `job` on a worker in `seconds`. Returns what takes it back and drops the job at once.

        Never raises: without a thread to be had the deadline waits for the next one that gets a thread.
        """
        entry: list[Any] = [time.monotonic() + seconds, next(self._count), (job, context)]
        with self._lock:
            heapq.heappush(self._heap, entry)
            first = self._heap[0] is entry
            if self._thread is None:
                self._start()
            elif first:
                self._wake.put(None)

        def take_back() -> None:
            entry[2] = None

        return take_back

    def _start(self) -> None:
        self._wake = SimpleQueue()  # its own: a thread that is just ending must not miss its last word
        thread = threading.Thread(target=self._serve, args=(self._wake,), daemon=True, name="rxagent-timer")
        try:
            thread.start()
        except RuntimeError as error:  # a dispose must not need a thread that is not to be had
            drop(error, "timer")
        else:
            self._thread = thread

    def end(self) -> None:
        """End the thread, unless a deadline is pending."""
        with self._lock:
            self._prune()
            thread = None if self._heap else self._thread
            if thread is not None:
                self._thread = None
                self._wake.put(None)
        if thread is not None:
            thread.join()

    def _prune(self) -> None:
        while self._heap and self._heap[0][2] is None:
            heapq.heappop(self._heap)

    def _serve(self, wake: SimpleQueue[None]) -> None:
        while True:
            with self._lock:
                if self._thread is not threading.current_thread():
                    return
                self._prune()
                wait = self._heap[0][0] - time.monotonic() if self._heap else self._idle_seconds
                due = None
                if self._heap and wait <= 0:
                    entry = heapq.heappop(self._heap)
                    due, entry[2] = entry[2], None  # whoever may take it back must not keep it
                    del entry
                idling = not self._heap
            if due is not None:
                job, context = due
                try:
                    workers.spawn(job, context)
                except RuntimeError:  # no thread to be had: better late for others than never
                    guarded("timer", (context or contextvars.Context()).copy().run, job)
                del due, job, context
                continue
            try:
                wake.get(timeout=max(wait, 0.0))
            except Empty:
                if idling and self._ended_idle():
                    return

    def _ended_idle(self) -> bool:
        with self._lock:
            if self._heap or self._thread is not threading.current_thread():
                return False
            self._thread = None
            return True


timer = Timer()
"""The timer of this process."""

idle.register(timer.end)
