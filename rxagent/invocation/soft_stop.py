"""SoftStop: a stop that lets a step, or the tools that run, finish first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, final

from rxagent.streams import CancelScope

from .abort_signal import StopDepth

__all__ = ["SoftStop"]


@final
class SoftStop:
    """Asked for from any thread; the model-tool loops of a run look at it, and come to rest where they may.

        turn    -model--tools--| rest
        tool    -model x tools-| rest         what has not started does not start
        on_rest ---------------|              when all loops rest: the run is then stopped at once

    on_rest(reason) is called once, by the loop that comes to rest last, or by `ask` when none is at work.
    """

    __slots__ = ("_asked", "_lock", "_model_scopes", "_on_rest", "_reason", "_working")

    def __init__(self, on_rest: Callable[[str], object]) -> None:
        self._on_rest = on_rest
        self._lock = threading.Lock()
        self._working = 0
        self._asked: StopDepth | None = None
        self._reason = ""
        self._model_scopes: dict[CancelScope, None] = {}

    @property
    def starts_nothing(self) -> bool:
        """True when no further tool is to start."""
        return self._asked == "tool"

    def ask(self, reason: str, after: StopDepth) -> None:
        """Stop after the tools that run, or after the step. A later, deeper one counts."""
        with self._lock:
            if self._asked == "tool":
                return
            self._reason = self._reason or reason
            self._asked = after
            scopes = list(self._model_scopes) if after == "tool" else []
            at_rest = not self._working
        for scope in scopes:
            scope.cancel(reason)
        if at_rest:
            self._on_rest(reason)

    @contextmanager
    def loop(self) -> Iterator[Callable[[CancelScope], None]]:
        """Around a model-tool loop, which calls what it is given before each step, and rests there when asked to."""
        with self._lock:
            self._working += 1
        resting: list[bool] = []

        def step(scope: CancelScope) -> None:
            if self._asked is not None:
                resting.append(True)
                self._leave()
                inbox: SimpleQueue[Any] = SimpleQueue()
                scope.wait(inbox)  # until the run is stopped

        try:
            yield step
        finally:
            if not resting:
                self._leave()

    @contextmanager
    def model_call(self, scope: CancelScope) -> Iterator[CancelScope]:
        """Around a model call: a scope that is cancelled alone when only the model is to stop."""
        own = scope.child()
        with self._lock:
            self._model_scopes[own] = None
            stop = self._asked == "tool"
        if stop:
            own.cancel(self._reason)
        try:
            yield own
        finally:
            with self._lock:
                self._model_scopes.pop(own, None)
            own.detach()

    def part(self) -> None:
        """The run is over: refer to nobody any more."""
        self._on_rest = _nothing

    def _leave(self) -> None:
        with self._lock:
            self._working -= 1
            last = not self._working and self._asked is not None
        if last:
            self._on_rest(self._reason)


def _nothing(_: str) -> None: ...
