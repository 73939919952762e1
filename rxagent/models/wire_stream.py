"""Chat-completions chunks to LlmResponses: a small state machine without I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, final

from pydantic_core import from_json

from rxagent.errors import ModelError, ModelProtocolError, ModelStreamTruncatedError
from rxagent.events import Content, Part, UsageMetadata

from .response import LlmResponse
from .wire_calls import CallAssembly
from .wire_errors import answer_error

__all__ = ["AnswerAssembly"]

Json: TypeAlias = Mapping[str, Any]

_FINISH: Final = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "function_call": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
}
_REASONING: Final = ("reasoning_content", "reasoning")


@final
class AnswerAssembly:
    """One answer, from its first chunk to its end.

    ::

        chunks     t--t--t(finish)--usage--[DONE]|
        responses  p--p--p-----------------------F     p partial, F the whole

    State: `open` until a finish reason or `[DONE]` has come; the last usage counts, also when it comes after both.
    Tolerated, because servers do it: no role, null everywhere, no index, no id, usage in every chunk, empty
    `choices`, `message` for `delta`, keep-alives as data. Not tolerated: an end without a finish, half a call.
    """

    __slots__ = ("_calls", "_done", "_finish", "_groq_usage", "_model", "_text", "_thought", "_usage")

    def __init__(self) -> None:
        self._text: list[str] = []
        self._thought: list[str] = []
        self._calls = CallAssembly()
        self._finish: str | None = None
        self._done = False
        self._usage: Json | None = None
        self._groq_usage: Json | None = None
        self._model: str | None = None

    @property
    def text(self) -> str:
        """The text so far, without reasoning."""
        return "".join(self._text)

    @property
    def is_done(self) -> bool:
        """True when `[DONE]` has come: nothing more is to be read."""
        return self._done

    @property
    def is_finished(self) -> bool:
        """True when the answer may end here: `[DONE]` or a finish reason has come."""
        return self._done or self._finish is not None

    def add_data(self, data: str, event: str = "message") -> LlmResponse | None:
        """Take the data of one server-sent event. Returns the partial response that it makes, if any.

        Raises ModelAnswerError for an error object, ModelProtocolError for data that is no JSON.
        """
        stripped = data.strip()
        if not stripped or stripped.startswith(":"):  # a comment, sent as data
            return None
        if stripped == "[DONE]":
            self._done = True
            return None
        try:
            chunk = from_json(stripped)
        except ValueError:
            raise ModelProtocolError(f"the server sent a chunk that is no JSON: {stripped[:200]!r}") from None
        if isinstance(chunk, dict) and event == "error" and not chunk.get("error"):
            raise answer_error(chunk, self.text)
        return self._add_chunk(chunk)

    def add_body(self, body: bytes) -> None:
        """Take a whole answer in one JSON body, from a server that does not stream. Raises as `add_data` does."""
        try:
            answer = from_json(body)
        except ValueError:
            raise ModelProtocolError(
                f"the server's answer is no JSON: {body[:200].decode('utf-8', 'replace')!r}; "
                "check that base_url leads to a chat-completions server (it usually ends in /v1)"
            ) from None
        self._add_chunk(answer)
        if not isinstance(answer, dict) or not answer.get("choices"):
            raise ModelProtocolError(
                f"the server's answer has no choices: {body[:200].decode('utf-8', 'replace')!r}; "
                "check that base_url leads to a chat-completions server (it usually ends in /v1)"
            )
        self._done = True

    def final(self) -> LlmResponse:
        """The whole answer, at the end of the stream.

        Raises ModelStreamTruncatedError when it has not finished, or with half a call.
        """
        if not self.is_finished:
            raise ModelStreamTruncatedError(
                "the model's answer stopped before its end (no finish_reason and no [DONE]); ask again", text=self.text
            )
        try:
            calls = self._calls.parts()
        except ModelStreamTruncatedError as error:
            raise ModelStreamTruncatedError(str(error), text=self.text) from None
        parts = (*_texts(self._thought, thought=True), *_texts(self._text), *calls)
        return LlmResponse(
            content=Content(role="model", parts=parts) if parts else None,
            finish_reason=_FINISH.get(self._finish or "stop", "OTHER"),
            usage_metadata=_usage(self._usage or self._groq_usage),
            model_version=self._model,
        )

    # -- one chunk -----------------------------------------------------------------------------------------------------

    def _add_chunk(self, chunk: object) -> LlmResponse | None:
        if not isinstance(chunk, dict):
            return None
        if chunk.get("error"):
            raise self._error(chunk["error"])
        if isinstance(chunk.get("model"), str):
            self._model = chunk["model"] or self._model
        self._usage = _map(chunk.get("usage")) or self._usage
        self._groq_usage = _map((_map(chunk.get("x_groq")) or {}).get("usage")) or self._groq_usage
        choices = chunk.get("choices")
        choice = _map(choices[0]) if isinstance(choices, list) and choices else None
        return self._add_choice(choice) if choice is not None and not choice.get("index") else None

    def _add_choice(self, choice: Json) -> LlmResponse | None:
        if choice.get("error"):
            raise self._error(choice["error"])
        parts = self._add_delta(_map(choice.get("delta")) or self._message(choice))
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish
        return LlmResponse(content=Content(role="model", parts=parts), partial=True) if parts else None

    def _message(self, choice: Json) -> Json | None:
        """The whole message of a server that does not stream; a repeat of what was streamed is not taken."""
        return None if self._text or self._calls else _map(choice.get("message"))

    def _add_delta(self, delta: Json | None) -> tuple[Part, ...]:
        if delta is None:
            return ()
        reasoning = next((text for key in _REASONING if (text := _text(delta.get(key)))), "")
        thought, text = _split(delta.get("content"))
        text += _text(delta.get("refusal"))
        reasoning += thought
        self._calls.add(delta.get("tool_calls"))
        if isinstance(delta.get("function_call"), dict):  # the form before `tool_calls`
            self._calls.add([{"index": 0, "function": delta["function_call"]}])
        if reasoning:
            self._thought.append(reasoning)
        if text:
            self._text.append(text)
        return (*_texts([reasoning], thought=True), *_texts([text]))

    def _error(self, error: object) -> ModelError:
        return answer_error(error, self.text)


def _texts(pieces: list[str], *, thought: bool | None = None) -> tuple[Part, ...]:
    text = "".join(pieces)
    return (Part(text=text, thought=thought),) if text else ()


def _split(content: object) -> tuple[str, str]:
    """(reasoning, text) of a delta's content: a text, or a list of typed pieces (Mistral)."""
    if not isinstance(content, list):
        return "", _text(content)
    thought, text = "", ""
    for piece in content:
        fields = _map(piece) or {}
        thought += "".join(_split(fields.get("thinking")))
        text += _text(fields.get("text"))
    return thought, text


def _usage(usage: Json | None) -> UsageMetadata | None:
    if usage is None:
        return None
    prompt, answer = _number(usage, "prompt_tokens"), _number(usage, "completion_tokens")
    total = _number(usage, "total_tokens")
    return UsageMetadata(
        prompt_token_count=prompt,
        candidates_token_count=answer,
        total_token_count=total if total is not None else (prompt or 0) + (answer or 0),
        thoughts_token_count=_number(_map(usage.get("completion_tokens_details")) or {}, "reasoning_tokens"),
        cached_content_token_count=_number(_map(usage.get("prompt_tokens_details")) or {}, "cached_tokens"),
    )


def _number(fields: Json, key: str) -> int | None:
    value = fields.get(key)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _map(value: object) -> Json | None:
    return value if isinstance(value, dict) and value else None
