"""ModelCalls: what the models of a server were asked and answered lately."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Any, Final, TypeAlias, final

from rxagent.events import Content, Event
from rxagent.invocation import CallbackContext, InvocationContext, Outcome
from rxagent.models import LlmRequest, LlmResponse
from rxagent.plugins import BasePlugin

__all__ = ["ModelCalls", "RecordedCall"]

_Key: TypeAlias = tuple[str, str, str | None]  # invocation, agent, branch: one of them asks one model at a time

_MOST_CALLS: Final = 100
_MOST_CONTENTS: Final = 200  # of one request: its latest
_MOST_BYTES: Final = 4 << 20  # of all requests together, roughly
_PART_BYTES: Final = 1 << 10  # that a part takes besides its text


@final
class RecordedCall:
    """One call of a model. Times in seconds since 1970; events: ids of those that its answer became."""

    __slots__ = ("agent", "answer", "began", "error", "events", "first", "invocation_id", "last", "request", "size")

    def __init__(self, invocation_id: str, agent: str) -> None:
        self.invocation_id = invocation_id
        self.agent = agent
        self.began = time.time()
        self.first: float | None = None
        self.last: float | None = None
        self.request: dict[str, Any] | None = None
        self.answer: LlmResponse | None = None
        self.error: str | None = None
        self.events: list[str] = []
        self.size = 0

    def asked(self, request: LlmRequest) -> None:
        """Keep the request, as it is when the answer begins: callbacks may have changed it until the model was asked.

        Its contents are values that the session holds as well: they are referred to, and written out when read.
        """
        contents = tuple(request.contents[-_MOST_CONTENTS:])
        self.size = sum(_size(content) for content in contents)
        self.request = {
            "model": request.model,
            "systemInstruction": request.system_instruction,
            "contents": contents,
            "contentsLeftOut": len(request.contents) - len(contents),
            "tools": request.declarations(),
            "config": request.config,
        }

    def as_json(self) -> dict[str, Any]:
        """For a client."""
        fields = {
            "invocationId": self.invocation_id,
            "agent": self.agent,
            "startedAt": self.began,
            "firstMs": _milliseconds(self.began, self.first),
            "tookMs": _milliseconds(self.began, self.last),
            "events": self.events,
            "request": None if self.request is None else {name: _json(one) for name, one in self.request.items()},
            "response": _json(self.answer),
            "error": self.error,
        }
        return {name: value for name, value in fields.items() if value is not None}


@final
class ModelCalls(BasePlugin):
    """Remembers the latest model calls of a process: at most a hundred of them, and about 4 MiB.

    A call appears with the first piece of its answer. What a callback says in the model's place is none. Threads: any.
    """

    def __init__(self, name: str = "rxagent_model_calls") -> None:
        super().__init__(name)
        self._lock = threading.Lock()
        self._calls: deque[RecordedCall] = deque()
        self._size = 0
        self._open: dict[_Key, tuple[RecordedCall, LlmRequest]] = {}
        self._owed: dict[_Key, RecordedCall] = {}  # calls whose whole answer has come, and is to become an event

    def of_invocation(self, invocation_id: str) -> list[RecordedCall]:
        """The calls of an invocation that are remembered, in their order."""
        with self._lock:
            return [call for call in self._calls if call.invocation_id == invocation_id]

    def before_model_callback(self, ctx: CallbackContext, llm_request: LlmRequest) -> None:
        """A model is about to be asked."""
        with self._lock:
            self._open[_key(ctx)] = RecordedCall(ctx.invocation_id, ctx.agent_name), llm_request

    def after_model_callback(self, ctx: CallbackContext, llm_response: LlmResponse) -> None:
        """It has answered, or begun to."""
        key = _key(ctx)
        call = self._begun(key)
        if call is None:
            return
        call.last = time.time()
        if not llm_response.partial:
            call.answer = llm_response
            with self._lock:
                self._owed[key] = call

    def on_model_error_callback(self, ctx: CallbackContext, llm_request: LlmRequest, error: Exception) -> None:
        """It has failed."""
        if (call := self._begun(_key(ctx))) is not None:
            call.last = time.time()
            call.error = f"{type(error).__name__}: {error}"

    def on_event_callback(self, ctx: InvocationContext, event: Event) -> None:
        """The answer has become an event."""
        if event.partial or not self._owed:
            return
        with self._lock:
            call = self._owed.pop((event.invocation_id or "", event.author or "", event.branch), None)
        if call is not None and not event.function_responses:
            call.events.append(event.id)

    def on_run_end(self, ctx: InvocationContext, outcome: Outcome) -> None:
        """What the run has not got is not coming."""
        with self._lock:
            for waiting in (self._open, self._owed):
                for key in [key for key in waiting if key[0] == ctx.invocation_id]:
                    del waiting[key]

    def _begun(self, key: _Key) -> RecordedCall | None:
        """The call, entered when this is the first that is heard of its answer."""
        held = self._open.get(key)
        if held is None:
            return None
        call, request = held
        if call.first is None:
            call.first = time.time()
            call.asked(request)
            with self._lock:
                self._calls.append(call)
                self._size += call.size
                while len(self._calls) > 1 and (len(self._calls) > _MOST_CALLS or self._size > _MOST_BYTES):
                    self._size -= self._calls.popleft().size
        return call


def _key(ctx: CallbackContext) -> _Key:
    return ctx.invocation_id, ctx.agent_name, ctx.invocation_context.branch


def _size(content: Content) -> int:
    return sum(
        _PART_BYTES + len(part.text or "") + len((part.inline_data and part.inline_data.data) or "")
        for part in content.parts or ()
    )


def _milliseconds(began: float, at: float | None) -> float | None:
    return None if at is None else round((at - began) * 1000, 1)


def _json(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, dict)):
        return [_json(one) for one in value]
    return value
