"""A scenario's model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reactivex import Observable

from rxagent.models import BaseLlm, LlmRequest, LlmResponse
from rxagent.streams import Blocking, CancelScope, Single, SingleEmitter, Stopped

from .answering import response_of
from .recorder import Recorder
from .views import DeclaredError, error_view, request_view

__all__ = ["PlayedModel"]


class PlayedModel(BaseLlm):
    """A model that plays declared turns and records every request."""

    def __init__(self, recorder: Recorder, name: str, script: Any, lane: str) -> None:
        super().__init__(name)
        self._recorder = recorder
        self._script = script
        self._lane = lane

    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
        seen = self._recorder.requests.setdefault(self.model, [])
        seen.append(request_view(llm_request, stream))
        n = len(seen)
        self._recorder.add("model_called", self._lane, model=self.model, n=n)
        turns = self._script.get("turns", [])
        if n > len(turns) and not self._script.get("repeat_last"):
            raise AssertionError(f"script of model {self.model} has no turn {n}")
        turn = turns[min(n, len(turns)) - 1]
        if isinstance(turn, dict):
            raise DeclaredError(turn["raise_on_call"])
        return Blocking(lambda scope: self._play(turn, n, scope))

    def _play(self, turn: list[Any], n: int, scope: CancelScope) -> Iterator[LlmResponse]:
        recorder, seen = self._recorder, {"model": self.model, "n": n}
        ended = False
        try:
            for index, item in enumerate(turn, 1):
                if "wait" in item:
                    recorder.add("gate_wait", self._lane, gate=item["wait"])
                    self._opened(item["wait"]).blocking_get(scope)
                elif "raise" in item:
                    error = DeclaredError(item["raise"])
                    ended = True
                    recorder.add("model_error", self._lane, **seen, error=error_view(error))
                    raise error
                else:
                    recorder.add("model_item", self._lane, **seen, item=index)
                    yield response_of(item["response"])
            ended = True
            recorder.add("model_completed", self._lane, **seen)
        except (GeneratorExit, Stopped):
            if not ended:
                recorder.add("model_disposed", self._lane, **seen)
            raise

    def _opened(self, gate: str) -> Single[None]:
        def start(emitter: SingleEmitter[None]) -> None:
            self._recorder.gate(gate).when_open(lambda: emitter.on_success(None))

        return Single.create(start)
