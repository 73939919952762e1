"""CallBook: what is known of a run's calls, for when it is stopped in the middle."""

from __future__ import annotations

import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Literal, final

__all__ = ["CallBook", "Landing", "LandingState"]

LandingState = Literal["waiting", "called", "running", "returned", "stopped"]


@final
class Landing:
    """How far one call has come.

        waiting   the tool was not called
        called    it was; nobody here can see its end (a Single's job elsewhere)
        running   it was, and its end will be told here
        returned  with a result, also an error result
        stopped   a coroutine that ended by its cancel, or a tool that raised the stop

    Told by the tool itself, on whichever thread it ends, also when the run no longer waits for it.
    """

    __slots__ = ("_landed", "result", "state")

    def __init__(self, landed: SimpleQueue[None]) -> None:
        self._landed = landed
        self.state: LandingState = "waiting"
        self.result: dict[str, Any] | None = None

    def called(self) -> None:
        """The tool is being called."""
        self.state = "called"

    def begin(self) -> None:
        """Its end will be told."""
        self.state = "running"

    def returned(self, result: dict[str, Any]) -> None:
        """It has ended with this result."""
        self.result = result
        self._land("returned")

    def stopped(self) -> None:
        """It was left by the stop."""
        self._land("stopped")

    def left(self) -> None:
        """Nothing more will come of it: when no end was told, it was cancelled before its first step."""
        if self.state == "running":
            self._land("waiting")

    def _land(self, state: LandingState) -> None:
        self.state = state
        self._landed.put(None)


@final
class CallBook:
    """The landings of a run's calls, and whoever ran them, by call id. Threads: any; one of them may wait."""

    __slots__ = ("_landed", "_landings", "runs")

    def __init__(self) -> None:
        self._landed: SimpleQueue[None] = (
            SimpleQueue()
        )  # wakes who waits; a Condition takes 1 KiB, and each run has one
        self._landings: dict[str, Landing] = {}
        self.runs: dict[str, Any] = {}
        """The flow's own record of each call."""

    def landing(self, call_id: str) -> Landing:
        """The landing of a call; a new one the first time, and when the call is run again."""
        landing = self._landings[call_id] = Landing(self._landed)
        return landing

    def find(self, call_id: str) -> Landing | None:
        """What is known of this call; None: nothing in this run."""
        return self._landings.get(call_id)

    def wait(self, seconds: float) -> None:
        """Wait until every call that is running has landed, at most `seconds`."""
        deadline = time.monotonic() + seconds
        with suppress(Empty):
            while True:
                while not self._landed.empty():  # of calls that have landed before the look
                    self._landed.get_nowait()
                if not any(landing.state == "running" for landing in list(self._landings.values())):
                    return
                self._landed.get(timeout=max(deadline - time.monotonic(), 0.0))
