"""Worker threads, kept for the next job: starting work costs a hand-over, not a thread."""

from __future__ import annotations

import contextvars
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final, TypeAlias

from .dropped import drop

__all__ = ["Workers", "workers"]

Job: TypeAlias = Callable[[], object]
_Given: TypeAlias = tuple[contextvars.Context, Job]
_Box: TypeAlias = "SimpleQueue[_Given | None]"

_STARTING: Final = 4
"""How many workers may be on the way to their job's first step.

Each that waits for the interpreter wakes up every 5 ms to ask for it, and none is free for the next job meanwhile:
1,000 runs that started together took 1.4 ms of CPU each, in place of 0.9.
"""


class Workers:
    """A cache of daemon threads named `rxagent-worker-N`.

    A job never waits for the end of another: an idle thread takes it, else a new one is started. Of many that are
    given at once a few start, and each that has begun lets the next one start.
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
        self._given: deque[_Given] = deque()  # jobs whose turn to start has not come
        self._starts = [True] * _STARTING  # taken and put back by atomic acts: a signal's handler may spawn, too

    def spawn(self, job: Job, context: contextvars.Context | None = None) -> None:
        """Run `job` on a worker, in a copy of `context` (of the caller's, when there is none).

        Raises RuntimeError when a new thread is needed and cannot be had. What the job raises is dropped and logged;
        a BaseException ends the thread and reaches `threading.excepthook`.
        """
        context = contextvars.copy_context() if context is None else context.copy()  # one Context, one entry
        try:
            self._starts.pop()
        except IndexError:
            self._given.append((context, job))
            self._start_given()  # somebody may have begun in between
            return
        try:
            self._start((context, job))
        except BaseException:  # no thread to be had, or a KeyboardInterrupt
            self._starts.append(True)
            raise

    def _start(self, given: _Given) -> None:
        try:
            box, _ = self._idle.popitem()  # atomic, and the warmest first
        except KeyError:
            box = SimpleQueue()
            name = f"rxagent-worker-{next(self._numbers)}"
            threading.Thread(target=self._serve, args=(box,), daemon=True, name=name).start()
        box.put(given)

    def _start_given(self) -> None:
        while self._given:
            try:
                self._starts.pop()
            except IndexError:
                return  # the next one that has begun comes here again
            try:
                given = self._given.popleft()
            except IndexError:
                self._starts.append(True)  # somebody was faster; look again, for what came in between
                continue
            try:
                self._start(given)
            except BaseException as error:
                self._starts.append(True)
                if not isinstance(error, RuntimeError):
                    raise
                self._given.appendleft(given)  # no thread to be had, and nobody here to tell: it waits for one that is
                return

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
            self._starts.append(True)
            self._start_given()
            context, job = item
            try:
                context.run(job)
            except Exception as error:
                drop(error, "worker")
            del item, context, job  # an idle thread must not keep the last run alive
            if len(self._idle) >= self._keep:
                return
            self._idle[box] = threading.current_thread()
            self._start_given()


workers = Workers()
"""The workers of this process."""
