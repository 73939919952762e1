"""Reading: what a reader made of an answer, in a form that any two readers can be compared in."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

from rxagent.errors import ModelError, ModelHttpError
from rxagent.events import FunctionCall, Part
from rxagent.models import BaseLlm, LlmRequest, LlmResponse
from rxagent.streams.blocking import pull
from rxagent.streams.scope import CancelScope

__all__ = ["ReadCall", "Reading", "Responses", "read_model", "read_responses"]


class ReadCall(NamedTuple):
    """A tool call. args: as JSON, keys sorted."""

    name: str
    args: str

    @staticmethod
    def of(name: str, args: Any) -> ReadCall:
        """The call with these arguments."""
        return ReadCall(name, json.dumps(args, sort_keys=True, ensure_ascii=False))


class Reading(NamedTuple):
    """An answer as it was understood: by rxagent, or by any other client.

    usage: tokens of the prompt, of the answer, and in all. error: the name of the error's class, empty for none; text
    is then what had come before. status: the error's, if it has one. code: the whole response's `error_code`: a
    success that says nothing.
    """

    text: str = ""
    thought: str = ""
    calls: tuple[ReadCall, ...] = ()
    finish: str = ""
    usage: tuple[int | None, int | None, int | None] | None = None
    error: str = ""
    status: int | None = None
    code: str = ""


class Responses(NamedTuple):
    """What a model emitted before it ended: normally, or by `error`."""

    responses: tuple[LlmResponse, ...]
    error: ModelError | None = None

    @property
    def calls(self) -> tuple[FunctionCall, ...]:
        """The tool calls in responses that are not partial."""
        return _calls(one for one in self.responses if not one.partial)

    @property
    def reading(self) -> Reading:
        """All of it, to compare. After an error the text is that of the partial responses."""
        error = self.error
        if error is not None:
            status = error.status if isinstance(error, ModelHttpError) else None
            calls = _read_calls(_calls(self.responses))  # none, if all is well
            name = type(error).__name__
            return Reading(_text(self.responses), calls=calls, error=name, status=status)
        last = [one for one in self.responses if not one.partial]
        usage = last[-1].usage_metadata if last else None
        return Reading(
            text=_text(last),
            thought=_text(last, thought=True),
            calls=_read_calls(_calls(last)),
            finish=(last[-1].finish_reason or "") if last else "",
            usage=None
            if usage is None
            else (usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count),
            code=(last[-1].error_code or "") if last else "",
        )


def read_responses(responses: Iterable[LlmResponse]) -> Responses:
    """Read to the end, or to the ModelError; any other error is raised."""
    seen: list[LlmResponse] = []
    try:
        for one in responses:
            seen.append(one)
    except ModelError as error:
        return Responses(tuple(seen), error)
    return Responses(tuple(seen))


def read_model(model: BaseLlm, request: LlmRequest, scope: CancelScope | None = None) -> Responses:
    """One streamed call of a model, read to its end on this thread."""
    return read_responses(pull(model.generate_content(request, True), scope or CancelScope()))


def _parts(responses: Iterable[LlmResponse]) -> Iterable[Part]:
    return chain.from_iterable(one.content.parts or () for one in responses if one.content is not None)


def _text(responses: Iterable[LlmResponse], *, thought: bool = False) -> str:
    return "".join(part.text or "" for part in _parts(responses) if bool(part.thought) == thought)


def _calls(responses: Iterable[LlmResponse]) -> tuple[FunctionCall, ...]:
    return tuple(part.function_call for part in _parts(responses) if part.function_call is not None)


def _read_calls(calls: Iterable[FunctionCall]) -> tuple[ReadCall, ...]:
    return tuple(ReadCall.of(call.name or "", call.args or {}) for call in calls)
