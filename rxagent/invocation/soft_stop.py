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
        on_rest ---------------|              when no loop is at work any more

    on_rest(reason, is_held) is called by the loop that comes to rest, or to its end, last, or by `ask` when none is at
    work. is_held: a loop rests that wanted another step, and waits until the run is stopped; else all have ended.
    """

    __slots__ = ("_asked", "_lock", "_model_scopes", "_on_rest", "_reason", "_resting", "_working")

    def __init__(self, on_rest: Callable[[str, bool], object]) -> None:
        self._on_rest = on_rest
        self._lock = threading.Lock()
        self._working = 0
        self._resting = False
        self._asked: StopDepth | None = None
        self._reason = ""
        self._model_scopes: dict[CancelScope, None] = {}

    def may_start(self) -> bool:
        """False when no further model call and no further tool is to begin."""
        return self._asked != "tool"

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
            self._on_rest(reason, self._resting)

    def loop(self) -> StepLoop:
        """A model-tool loop is at work in the block that this is entered for."""
        return StepLoop(self)

    @contextmanager
    def hand_over(self) -> Iterator[None]:
        """Another agent takes over from a loop: meanwhile this one is not at work, and what rests is the other's."""
        with self._lock:
            self._working -= 1
        try:
            yield
        finally:
            self._enter()

    def model_call(self, scope: CancelScope) -> ModelCallScope:
        """Around a model call: a scope that is cancelled alone when only the model is to stop."""
        return ModelCallScope(self, scope.child())

    def part(self) -> None:
        """The run is over: refer to nobody any more."""
        self._on_rest = _nothing

    def _enter(self) -> None:
        with self._lock:
            self._working += 1

    def _leave(self, *, rests: bool = False) -> None:
        with self._lock:
            self._working -= 1
            self._resting = self._resting or rests
            last = not self._working and self._asked is not None
        if last:
            self._on_rest(self._reason, self._resting)

    def _add(self, model_scope: CancelScope) -> None:
        with self._lock:
            self._model_scopes[model_scope] = None
            stop = self._asked == "tool"
        if stop:
            model_scope.cancel(self._reason)

    def _remove(self, model_scope: CancelScope) -> None:
        with self._lock:
            self._model_scopes.pop(model_scope, None)


@final
class StepLoop:
    """A model-tool loop at work: it asks before each step, and rests there when a stop was asked for."""

    __slots__ = ("_rests", "_stop")

    def __init__(self, stop: SoftStop) -> None:
        self._stop = stop
        self._rests = False

    def may_step(self, scope: CancelScope) -> None:
        """Return when the next step may begin; else wait until the run is stopped."""
        if self._stop._asked is None:
            return
        self._rests = True
        self._stop._leave(rests=True)
        inbox: SimpleQueue[Any] = SimpleQueue()
        scope.wait(inbox)

    def __enter__(self) -> StepLoop:
        self._stop._enter()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._rests:
            self._stop._leave()


@final
class ModelCallScope:
    """The scope of a model call, known to the stop while the call lasts."""

    __slots__ = ("_scope", "_stop")

    def __init__(self, stop: SoftStop, scope: CancelScope) -> None:
        self._stop = stop
        self._scope = scope

    def __enter__(self) -> CancelScope:
        self._stop._add(self._scope)
        return self._scope

    def __exit__(self, *_: object) -> None:
        self._stop._remove(self._scope)
        self._scope.detach()


def _nothing(_: str, __: bool) -> None: ...
