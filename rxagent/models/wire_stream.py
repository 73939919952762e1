"""Chat-completions chunks to LlmResponses: a small state machine without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, final

from rxagent.errors import (
    ModelEmptyAnswerError,
    ModelError,
    ModelProtocolError,
    ModelStreamTruncatedError,
)
from rxagent.events import Content, Part

from .response import LlmResponse
from .wire_calls import CallAssembly
from .wire_delta import said_in
from .wire_errors import answer_error, error_without_choices, reports_error
from .wire_extra import google_signature, merge_extra, with_extra
from .wire_finish import Finish
from .wire_limits import WireLimits, too_large
from .wire_partial import partial_response
from .wire_text import TextPieces, chunk_of, name_of, text_of
from .wire_usage import Usage

__all__ = ["AnswerAssembly"]

Json: TypeAlias = Mapping[str, Any]

_DONE: Final = b"[DONE]"
_SHOWN: Final = 4096  # bytes of what is no JSON
_KEEP_ALIVE: Final = frozenset({"ping", "pong", "keepalive", "keep-alive", "keep_alive", "heartbeat", "processing"})
_CHECK: Final = "check that base_url leads to a chat-completions server (it usually ends in /v1)"


@final
class AnswerAssembly:
    """One answer, from its first chunk to its end.

    ::

        chunks     t--t--t(finish)--usage--[DONE]|
        responses  p--p--p-----------------------F     p partial, F the whole

    State: `open` until a finish reason or `[DONE]` has come; usage may follow the finish, nothing follows `[DONE]`.
    Tolerated, because servers do it: no role, null everywhere, no index, no id, usage in every chunk, empty
    `choices`, `message` for `delta`, keep-alives as data. Not tolerated: an end without a finish, half a call, an
    answer that says nothing.
    """

    __slots__ = (
        "_calls",
        "_choice",
        "_done",
        "_extra",
        "_finish",
        "_groq_usage",
        "_heard",
        "_limits",
        "_model",
        "_size",
        "_text",
        "_thought",
        "_usage",
    )

    def __init__(self, limits: WireLimits | None = None) -> None:
        self._limits = limits or WireLimits()
        self._size = 0  # of text and reasoning
        self._text = TextPieces()
        self._thought = TextPieces()
        self._calls = CallAssembly()
        self._finish = Finish()
        self._done = False
        self._usage = Usage()
        self._groq_usage = Usage()
        self._model: str | None = None
        self._choice: object = None  # the index of the choice that is read; the first one that came
        self._heard = False  # a chunk with a choice has come
        self._extra: dict[str, Any] = {}

    @property
    def text(self) -> str:
        """The text so far, without reasoning."""
        return self._text.text

    @property
    def is_done(self) -> bool:
        """True when `[DONE]` has come: nothing more is to be read."""
        return self._done

    @property
    def is_finished(self) -> bool:
        """True when the answer may end here: `[DONE]` or a finish reason has come."""
        return self._done or self._finish.word is not None

    def add_data(self, data: bytes, event: str = "message") -> LlmResponse | None:
        """Take the data of one server-sent event. Returns the partial response that it makes, if any.

        Raises ModelAnswerError for an error object, ModelProtocolError for data that is no JSON,
        ModelAnswerTooLargeError for data that takes too much memory, or an answer that has grown too long.
        """
        if data[-1:].isspace() or data[:1].isspace():
            data = data.strip()
        if self._done:
            return None
        if data == _DONE:
            self._done = True
            return None
        try:
            chunk = chunk_of(data, self._limits.event, "event")
        except ValueError:
            self._add_no_json(data[:_SHOWN].decode("utf-8", "replace"), event)
            return None
        if event == "error" and not (isinstance(chunk, dict) and chunk.get("error")):
            raise self._error(chunk)
        return self._add_chunk(chunk)

    def add_tail(self, data: bytes, event: str = "message") -> None:
        """Take what stood at the end of the stream without an end of its own: a chunk, if it is a whole one."""
        try:
            is_whole = data.strip() == _DONE or isinstance(chunk_of(data, self._limits.event, "event"), dict)
        except ValueError:
            return
        if is_whole:
            self.add_data(data, event)

    def add_body(self, body: bytes) -> None:
        """Take a whole answer in one JSON body, from a server that does not stream. Raises as `add_data` does."""
        for answer in _answers_in(body, self._limits.body):
            self._add_chunk(answer)
        if not self._heard:
            raise ModelProtocolError(f"the server's answer has no choices: {_shown(body)}; {_CHECK}")
        self._done = True

    def final(self) -> LlmResponse:
        """The whole answer, at the end of the stream.

        Raises ModelStreamTruncatedError when it has not finished, or with half a call; ModelEmptyAnswerError when it
        says nothing; ModelAnswerError when the server gave an error for its end.
        """
        finish = self._finish
        if not self.is_finished or finish.is_broken:
            why = f"finish_reason {finish.word!r}" if finish.is_broken else "no finish_reason and no [DONE]"
            raise ModelStreamTruncatedError(
                f"the model's answer stopped before its end ({why}); ask again", text=self.text
            )
        if finish.is_error:
            raise self._error({"message": f"the answer ended with finish_reason {finish.word!r}", "code": finish.word})
        try:
            calls = self._calls.parts(self._limits.answer, cut=finish.is_cut)
        except ModelStreamTruncatedError as error:
            raise ModelStreamTruncatedError(str(error), text=self.text) from None
        usage = self._usage.metadata() or self._groq_usage.metadata()
        parts = (*self._words(), *calls)
        if not (self._text or self._thought or calls):
            return LlmResponse(**self._nothing_said(), usage_metadata=usage, model_version=self._model)
        lost = finish.promises_calls and not calls
        return LlmResponse(
            content=Content(role="model", parts=parts),
            finish_reason="MALFORMED_FUNCTION_CALL" if lost else finish.reason,
            usage_metadata=usage,
            model_version=self._model,
        )

    def _words(self) -> Iterator[Part]:
        """Reasoning and text; what is unknown goes with the reasoning, and makes an empty one where there is none."""
        if self._thought or self._extra:
            yield with_extra(Part(text=self._thought.text, thought=True), self._extra)
        if self._text:
            yield Part(text=self._text.text, thought_signature=google_signature(self._extra))

    def _nothing_said(self) -> dict[str, Any]:
        """The fields of a response without content, which says why. Raises where the server has lost something."""
        finish = self._finish
        if finish.word is None or finish.promises_calls:
            what = "announced a tool call and sent none" if finish.promises_calls else "ended without saying anything"
            raise ModelEmptyAnswerError(f"the model's answer {what}; ask again, or try another server")
        return {
            "finish_reason": finish.reason,
            "error_code": "EMPTY_ANSWER" if finish.reason == "STOP" else finish.reason,
            "error_message": f"the model said nothing (finish_reason {finish.word!r}); ask again",
        }

    # -- one chunk -----------------------------------------------------------------------------------------------------

    def _add_no_json(self, data: str, event: str) -> None:
        if event == "error":
            raise self._error(data or "no message")
        if not data or data.startswith(":") or data.lower() in _KEEP_ALIVE:  # a comment, sent as data
            return
        if event != "message" and data[0] not in "{[":  # `event: ping` and its like
            return
        raise ModelProtocolError(f"the server sent a chunk that is no JSON: {data[:200]!r}; ask again")

    def _add_chunk(self, chunk: object) -> LlmResponse | None:
        if not isinstance(chunk, dict):
            if isinstance(chunk, list):  # Google's compatibility layer wraps errors in a list
                for one in chunk:
                    if isinstance(one, dict) and "error" in one:
                        self._add_chunk(one)
            return None
        if "error" in chunk and reports_error(chunk["error"]):
            raise self._error(chunk["error"])
        model = chunk.get("model")
        if model and isinstance(model, str):
            self._model = name_of(model)
        if "usage" in chunk:
            self._usage.add(chunk["usage"])
        if "x_groq" in chunk and isinstance(chunk["x_groq"], dict):
            self._add_groq(chunk["x_groq"])
        choices = chunk.get("choices")
        if not choices:
            if "choices" not in chunk and (error := error_without_choices(chunk)) is not None:
                raise self._error(error)
            return None
        for choice in choices if isinstance(choices, list) else (choices,):
            if isinstance(choice, dict) and self._is_ours(choice):
                return self._add_choice(choice)
        return None

    def _add_groq(self, groq: Json) -> None:
        self._groq_usage.add(groq.get("usage"))
        if groq.get("error"):
            raise self._error(groq["error"])

    def _is_ours(self, choice: Json) -> bool:
        """True for the choice that came first: another one (`n` above 1) would be mixed into its text."""
        index = choice.get("index")
        if index is None:
            return True
        if self._choice is None:
            self._choice = index
        return bool(index == self._choice)

    def _add_choice(self, choice: Json) -> LlmResponse | None:
        self._heard = True
        if "error" in choice and reports_error(choice["error"]):
            raise self._error(choice["error"])
        if "usage" in choice:  # Moonshot
            self._usage.add(choice["usage"])
        finish = choice.get("finish_reason")
        if finish is not None:
            self._finish.add(finish)
        delta = choice.get("delta")
        if delta and isinstance(delta, dict):
            return self._add_delta(delta)
        return self._add_message(choice)

    def _add_message(self, choice: Json) -> LlmResponse | None:
        """The whole message of a server that does not stream; a repeat of what was streamed is not taken."""
        if self._text or self._calls:
            return None
        message = choice.get("message")
        if isinstance(message, dict):
            if self._thought:
                message = {key: value for key, value in message.items() if not key.startswith("reasoning")}
            return self._add_delta(message)
        text = text_of(choice.get("text"))  # the form before chat
        return self._add_delta({"content": text}) if text else None

    def _add_delta(self, delta: Json) -> LlmResponse | None:
        if "error" in delta and reports_error(delta["error"]):
            raise self._error(delta["error"])
        thought, text, extra = said_in(delta)
        if delta.get("tool_calls"):
            self._calls.add(delta["tool_calls"])
        if isinstance(delta.get("function_call"), dict):  # the form before `tool_calls`
            self._calls.add([{"index": 0, "function": delta["function_call"]}])
        self._size += len(thought) + len(text)
        if self._size + self._calls.size > self._limits.answer:
            raise too_large("answer", self._limits.answer)
        if extra:
            merge_extra(self._extra, extra)
        if thought:
            thought = self._thought.add(thought)
        if text:
            text = self._text.add(text)
        return partial_response(thought, text)

    def _error(self, error: object) -> ModelError:
        return answer_error(error, self.text)


def _answers_in(body: bytes, most: int) -> Iterable[Any]:
    """The JSON value of a body; a body of one JSON object in each line has many. Raises ModelProtocolError."""
    try:
        return [chunk_of(body, most, "body")]
    except ValueError:
        pass
    try:
        for line in _lines(body):
            chunk_of(line, most, "body")
    except ValueError:
        raise ModelProtocolError(f"the server's answer is no JSON: {_shown(body)}; {_CHECK}") from None
    return (chunk_of(line, most, "body") for line in _lines(body))  # again: all of them may take much memory


def _lines(body: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(body):
        end = body.find(b"\n", start)
        end = len(body) if end < 0 else end
        line = body[start:end].strip()
        if line and line != _DONE:
            yield line
        start = end + 1


def _shown(body: bytes) -> str:
    return repr(body[:_SHOWN].decode("utf-8", "replace")[:200])
