"""Mailbox: where code of a run stands. One worker serves it; what other threads want done there is posted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, final

from .aio import on_loop_thread
from .scope import CancelScope, Stopped

__all__ = ["Mailbox"]


@final
class Mailbox:
    """The jobs of one worker, which runs them one after the other, outside every trampoline.

        post    a-b------c--|end
        serve   aaabb----ccc|

    scope: a cancel leaves `serve` by Stopped, after the job in progress.
    """

    __slots__ = ("_jobs", "_thread", "scope")

    def __init__(self, scope: CancelScope) -> None:
        self.scope = scope
        self._jobs: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread = 0

    def serve(self, first: Callable[[], object]) -> None:
        """Run `first`, then what is posted, on this thread, until `end` is reached or the scope is cancelled."""
        self._thread = threading.get_ident()
        first()
        while (job := self.scope.wait(self._jobs)) is not None:
            job()
            del job

    def post(self, job: Callable[[], object]) -> None:
        """Have `job` run by the worker. Threads: any; never waits."""
        self._jobs.put(job)

    def end(self) -> None:
        """`serve` returns when it has come this far."""
        self._jobs.put(None)

    def send(self, function: Callable[[Any], object], value: Any, scope: CancelScope | None = None) -> None:
        """function(value) on the worker, after what was sent and relayed before; the sender goes on at once.

        On the worker itself it is a plain call. Once the scope is cancelled the call no longer runs.
        """
        if threading.get_ident() == self._thread:
            function(value)
            return
        scope = scope or self.scope
        self._jobs.put(lambda: None if scope.is_cancelled else function(value))

    def relay(self, function: Callable[[Any], object], value: Any, scope: CancelScope | None = None) -> None:
        """function(value) on the worker; returns when it has run, so that the sender goes no faster than the log.

        On the worker itself it is a plain call. A sender that runs an event loop does not wait; one whose scope is
        cancelled waits no longer, and the call may then never run.
        """
        if threading.get_ident() == self._thread:
            function(value)
            return
        scope = scope or self.scope
        done: SimpleQueue[bool] = SimpleQueue()

        def job() -> None:
            try:
                if not scope.is_cancelled:
                    function(value)
            finally:
                done.put(True)

        self._jobs.put(job)
        if on_loop_thread():
            return
        with suppress(Stopped):  # whoever sent it looks at its scope next
            scope.wait(done)
