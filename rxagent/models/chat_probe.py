"""Probes: what a chat-completions server does, found out by about a dozen small requests, and the profile for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, final

from pydantic_core import from_json

from rxagent.errors import ModelAnswerError, ModelHttpError

from .chat_exchange import Asker, Exchange
from .profile import Profile
from .profiles import profile_for, profile_named

__all__ = ["Finding", "Probes", "Verdict"]

Json: TypeAlias = dict[str, Any]
Verdict: TypeAlias = Literal["yes", "no", "odd", "unknown"]

_OWNERS: Final = {"vllm": "vllm", "llamacpp": "llama.cpp", "sglang": "sglang", "library": "ollama"}
_PIXEL: Final = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_WEATHER: Final[Json] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
_SHAPE: Final[Json] = {
    "type": "object",
    "properties": {"answer": {"type": "integer"}},
    "required": ["answer"],
    "additionalProperties": False,
}
_TOKENS: Final = 96
_LONG: Final = 2000  # tokens of the answer that is left in its middle
_WATCHED_SECONDS: Final = 15.0
_LOOK_EVERY: Final = 0.02


@dataclass(frozen=True, slots=True)
class Finding:
    """What one probe found: `yes`, `no`, `odd` for yes in a way of its own, `unknown`; and the detail."""

    probe: str
    verdict: Verdict
    detail: str


@final
class Probes:
    """The probes of one server and model. `run` yields what they find; then `profile` is the one to use.

    Raises ModelError when the server does not answer at all.
    """

    __slots__ = ("_asker", "_base", "_learned", "_limit", "_usual_ms", "kind")

    def __init__(self, asker: Asker, base_url: str) -> None:
        self._asker = asker
        self._learned: dict[str, Any] = {}
        self._limit = "max_tokens"
        self._usual_ms = 0.0
        self.kind = self._kind_of_server()
        self._base = (
            profile_named(self.kind, asker.model) if self.kind is not None else profile_for(base_url, asker.model)
        )

    @property
    def profile(self) -> Profile:
        """The known profile with what was learned."""
        return replace(self._base, **self._learned)

    @property
    def learned(self) -> dict[str, Any]:
        """The fields in which the server differs from the known profile."""
        return {name: value for name, value in self._learned.items() if getattr(self._base, name) != value}

    def run(self) -> Iterator[Finding]:
        """Probe after probe, each when it is taken."""
        first = self._first_answer()
        yield from self._of_first(first)
        probes: tuple[Callable[[], Finding], ...] = (
            self._tool_call,
            self._parallel_calls,
            self._tool_result,
            self._reasoning_echo,
            self._json_schema,
            self._image,
            self._cancel,
        )
        for probe in probes:
            yield probe()

    # -- a first answer ------------------------------------------------------------------------------------------------

    def _kind_of_server(self) -> str | None:
        status, text, headers = self._asker.get("/models")
        if status != 200:
            return None
        if str(headers.get("Server", "")).lower().startswith("llama.cpp"):
            return "llama.cpp"
        try:
            owners = {str(one.get("owned_by")).lower() for one in from_json(text)["data"]}
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        return next((kind for owner, kind in _OWNERS.items() if owner in owners), None)

    def _body(self, messages: list[Json], tokens: int = _TOKENS, **more: Any) -> Json:
        body = {"messages": messages, "stream": True, self._limit: tokens, **more}
        if self._learned.get("stream_usage", True):
            body["stream_options"] = {"include_usage": True}
        return body

    def _first_answer(self) -> Exchange:
        role = "system"
        for _ in range(4):
            messages = [{"role": role, "content": "Answer in one word."}, _user("What is the capital of France?")]
            exchange = self._asker.ask(self._body(messages))
            said = exchange.said
            if exchange.status not in (400, 422):
                break
            if "stream_options" in said and "stream_usage" not in self._learned:
                self._learned["stream_usage"] = False
            elif self._limit in said:
                self._limit = "max_completion_tokens" if self._limit == "max_tokens" else "max_tokens"
                self._learned["output_limit"] = self._limit
            elif "system" in said.lower() and role == "system":
                role = self._learned["system_role"] = "developer"
            else:
                break
        if exchange.error is not None:
            raise exchange.error
        self._usual_ms = exchange.first_ms
        return exchange

    def _of_first(self, first: Exchange) -> Iterator[Finding]:
        end = "[DONE]" if first.ends_with_done else "a finish reason, without [DONE]"
        if first.is_stream:
            detail = f"{len(first.chunks)} chunks, the first after {first.first_ms:.0f} ms, ends with {end}"
            yield Finding("stream", "yes" if first.ends_with_done else "odd", detail)
        else:
            yield Finding("stream", "no", f"one JSON body after {first.total_ms:.0f} ms")
        response = first.response
        usage = response.usage_metadata if response is not None else None
        if usage is None:
            yield Finding("usage", "no", "not reported")
        else:
            asked = "" if self._learned.get("stream_usage", True) else "; stream_options is refused"
            counts = f"{usage.prompt_token_count} + {usage.candidates_token_count} tokens{asked}"
            yield Finding("usage", "odd" if asked else "yes", counts)
        if "output_limit" in self._learned:
            yield Finding("output limit", "odd", f"wants {self._limit}")
        if "system_role" in self._learned:
            yield Finding("instruction", "odd", "wants the role developer")
        fields = [name for name in ("reasoning_content", "reasoning") if any(one.get(name) for one in first.deltas())]
        if fields:
            self._learned["reasoning_field"] = fields[0]
        yield Finding("reasoning", "yes" if fields else "no", f"in {fields[0]}" if fields else "none was sent")

    # -- tools ---------------------------------------------------------------------------------------------------------

    def _tool_call(self) -> Finding:
        return self._called("tool call", "What is the weather in Oslo? Use the tool.", 1)

    def _parallel_calls(self) -> Finding:
        return self._called("parallel calls", "Weather in Oslo and in Lima? Call the tool once for each, at once.", 2)

    def _called(self, probe: str, question: str, wanted: int) -> Finding:
        body = self._body([_user(question)], 2 * _TOKENS, tools=[_WEATHER], tool_choice="required")
        exchange = self._asker.ask(body)
        if exchange.status in (400, 422) and "tool_choice" in exchange.said:
            exchange = self._asker.ask({**body, "tool_choice": "auto"})
        if exchange.error is not None:
            return Finding(probe, "no", _short(str(exchange.error)))
        parts = exchange.response.content.parts if exchange.response and exchange.response.content else None
        calls = [part.function_call for part in parts or () if part.function_call is not None]
        if not calls:
            return Finding(probe, "no", "the model answered with text")
        entries = [one for delta in exchange.deltas() for one in delta.get("tool_calls") or () if isinstance(one, dict)]
        odd = [f"no {name}" for name in ("index", "id") if not any(one.get(name) not in (None, "") for one in entries)]
        count = f"{len(calls)} call{'s' * (len(calls) > 1)} in {len(entries)} pieces"
        detail = "; ".join([count, f"id {calls[0].id}", *odd])
        return Finding(probe, "no" if len(calls) < wanted else "odd" if odd else "yes", detail)

    def _tool_result(self) -> Finding:
        """A conversation with a call and its result, as it is usual; then with what the refusals ask for."""
        message: Json = {"content": None}
        call_id, learned, refusal = "call_0", dict[str, Any](), ""
        for _ in range(4):
            exchange = self._asker.ask(self._body(_round_trip(message, call_id), tools=[_WEATHER]))
            said = exchange.said.lower()
            if exchange.status not in (400, 422, 500) or isinstance(exchange.error, ModelAnswerError):
                break
            refusal = refusal or _short(str(exchange.error))
            if "reasoning" in said and "echo_reasoning" not in learned:
                field = "reasoning_content" if "reasoning_content" in said else self._field
                learned |= {"echo_reasoning": "tool_turns", "reasoning_required": True, "reasoning_field": field}
                message[field] = "The tool knows."
            elif "length of 9" in said and call_id == "call_0":
                call_id, learned["call_ids"] = "abcDEF123", "nine"
            elif message["content"] is None:
                message["content"], learned["content_beside_calls"] = "", "empty"
            else:
                break
        if exchange.error is not None:
            return Finding("tool result", "no", refusal or _short(str(exchange.error)))
        self._learned |= learned
        wants = ", ".join(f"{name}={value!r}" for name, value in learned.items())
        return Finding("tool result", "odd" if wants else "yes", f"wants {wants}" if wants else "null content is taken")

    @property
    def _field(self) -> str:
        return str(self._learned.get("reasoning_field", self._base.reasoning_field))

    def _reasoning_echo(self) -> Finding:
        if self._learned.get("echo_reasoning"):
            return Finding("reasoning back", "yes", "required beside calls")
        content = "" if self._learned.get("content_beside_calls") == "empty" else None
        call_id = "abcDEF123" if self._learned.get("call_ids") == "nine" else "call_0"
        messages = _round_trip({"content": content, self._field: "The tool knows."}, call_id)
        exchange = self._asker.ask(self._body(messages, tools=[_WEATHER]))
        if exchange.status in (400, 422):
            self._learned["echo_reasoning"] = "never"
            return Finding("reasoning back", "no", _short(str(exchange.error)))
        if exchange.error is not None:
            return Finding("reasoning back", "unknown", _short(str(exchange.error)))
        return Finding("reasoning back", "yes", f"{self._field} beside calls is taken, or ignored")

    # -- other things --------------------------------------------------------------------------------------------------

    def _json_schema(self) -> Finding:
        form = {"type": "json_schema", "json_schema": {"name": "sum", "schema": _SHAPE}}
        question = [_user("What is 2 + 3? Answer as a JSON object with the key answer.")]
        exchange = self._asker.ask(self._body(question, response_format=form))
        if exchange.status in (400, 422):
            self._learned["json_shapes"] = "object"
            return Finding("JSON schema", "no", _short(str(exchange.error)))
        text = exchange.response.text if exchange.response is not None else ""
        try:
            fits = isinstance(from_json(text).get("answer"), int)
        except (ValueError, AttributeError):
            fits = False
        if exchange.error is not None:
            return Finding("JSON schema", "unknown", _short(str(exchange.error)))
        return Finding("JSON schema", "yes" if fits else "odd", "kept" if fits else f"taken, not kept: {_short(text)}")

    def _image(self) -> Finding:
        picture = {"type": "image_url", "image_url": {"url": _PIXEL}}
        message = {"role": "user", "content": [{"type": "text", "text": "Which colour?"}, picture]}
        exchange = self._asker.ask(self._body([message]))
        if exchange.error is None:
            return Finding("images", "yes", "taken")
        if isinstance(exchange.error, ModelHttpError) and exchange.status not in (401, 403, 429, 502, 503, 504):
            self._learned["inputs"] = self._base.inputs - {"image", "image_url"}
            return Finding("images", "no", _short(str(exchange.error)))
        return Finding("images", "unknown", _short(str(exchange.error)))

    def _cancel(self) -> Finding:
        """Leave a long answer in its middle, and see how soon the server has stopped."""
        long = self._body([_user("Count from one to one thousand, in words.")], _LONG)
        exchange = self._asker.ask(long, cut_after=3)
        began = time.monotonic()
        if not exchange.was_cut:
            reason = _short(str(exchange.error)) if exchange.error is not None else "the answer was over before"
            return Finding("cancel", "unknown", reason)
        left = self._asker.running()
        if left is not None:
            while left and time.monotonic() - began < _WATCHED_SECONDS:
                time.sleep(_LOOK_EVERY)
                left = self._asker.running()
            seconds = time.monotonic() - began
            detail = f"{left} still running after {seconds:.1f} s" if left else f"idle after {seconds * 1000:.0f} ms"
            return Finding("cancel", "no" if left else "yes", detail)
        after = self._asker.ask(self._body([_user("What is the capital of France?")]))
        if after.error is not None:
            return Finding("cancel", "unknown", _short(str(after.error)))
        soon = after.first_ms < 4 * self._usual_ms + 500
        detail = f"the next answer began after {after.first_ms:.0f} ms, one before after {self._usual_ms:.0f} ms"
        return Finding("cancel", "yes" if soon else "no", detail)


def _user(text: str) -> Json:
    return {"role": "user", "content": text}


def _round_trip(message: Json, call_id: str) -> list[Json]:
    call = {"id": call_id, "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'}}
    return [
        _user("What is the weather in Oslo?"),
        {"role": "assistant", **message, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": '{"degrees":21}'},
    ]


def _short(text: str, most: int = 110) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
