"""Worker threads, kept for the next job: starting work costs a hand-over, not a thread."""

from __future__ import annotations

import contextvars
import itertools
import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeAlias

from .dropped import drop

__all__ = ["Workers", "workers"]

Job: TypeAlias = Callable[[], object]
_Box: TypeAlias = "SimpleQueue[tuple[contextvars.Context, Job] | None]"


class Workers:
    """A cache of daemon threads named `rxagent-worker-N`.

    A job never waits for a thread: an idle one takes it, else a new one is started.
    keep: how many may stand idle. idle: seconds after which an idle one ends.
    """

    def __init__(self, keep: int = 64, idle: float = 10.0) -> None:
        self._keep = keep
        self._seconds = idle
        self._numbers = itertools.count(1)
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)  # a forked child has none of the threads

    def _forget(self) -> None:
        self._idle: dict[_Box, threading.Thread] = {}

    def spawn(self, job: Job, context: contextvars.Context | None = None) -> None:
        """Run `job` on a worker, in a copy of `context` (of the caller's, when there is none).

        Raises RuntimeError when a new thread is needed and cannot be had. What the job raises is dropped and logged;
        a BaseException ends the thread and reaches `threading.excepthook`.
        """
        context = contextvars.copy_context() if context is None else context.copy()  # one Context, one entry
        try:
            box, _ = self._idle.popitem()  # atomic, and the warmest first
        except KeyError:
            box = SimpleQueue()
            name = f"rxagent-worker-{next(self._numbers)}"
            threading.Thread(target=self._serve, args=(box,), daemon=True, name=name).start()
        box.put((context, job))

    @property
    def idle(self) -> int:
        """How many workers stand idle."""
        return len(self._idle)

    def end_idle(self) -> None:
        """End the idle workers, and wait until they are gone."""
        while True:
            try:
                box, thread = self._idle.popitem()
            except KeyError:
                return
            box.put(None)
            thread.join()

    def _serve(self, box: _Box) -> None:
        while True:
            try:
                item = box.get(timeout=self._seconds)
            except Empty:
                if self._idle.pop(box, None) is not None:
                    return
                continue  # just taken: the job is on its way
            if item is None:
                return
            context, job = item
            try:
                context.run(job)
            except Exception as error:
                drop(error, "worker")
            del item, context, job  # an idle thread must not keep the last run alive
            if len(self._idle) >= self._keep:
                return
            self._idle[box] = threading.current_thread()


workers = Workers()
"""The workers of this process."""
