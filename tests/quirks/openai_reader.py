"""The official `openai` client as a reader: what it makes of a quirk, in the corpus's own terms."""

from __future__ import annotations

import json
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

from rxagent.testing.quirks_reading import ReadCall, Reading

__all__ = ["difference", "opened", "read"]

_FINISH: Final = types.MappingProxyType(
    {"stop": "STOP", "tool_calls": "STOP", "function_call": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
)
_ITS_ERROR: Final = "its own error"


@contextmanager
def opened(base_url: str, *, idle: float) -> Iterator[openai.OpenAI]:
    """A client without retries. idle: seconds of silence that it allows."""
    timeout = openai.Timeout(10, read=idle)
    with (
        openai.DefaultHttpxClient(trust_env=False) as wire,
        openai.OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=timeout, http_client=wire) as client,
    ):
        yield client


def read(client: openai.OpenAI, name: str) -> Reading:
    """One streamed call of the quirk of this name, assembled by the client's own helper.

    An error of the client's own kinds is one word; another exception, which its parts let through, has its name.
    """
    state: ChatCompletionStreamState[Any] = ChatCompletionStreamState()
    text = ""
    try:
        chunks = client.chat.completions.create(model=name, messages=[{"role": "user", "content": "Hi"}], stream=True)
        with chunks, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # pydantic's, about values of other types than declared
            for chunk in chunks:
                state.handle_chunk(chunk)
                text = _text_of(state)
            return _reading(state.current_completion_snapshot)
    except openai.OpenAIError as error:
        return Reading(text, error=_ITS_ERROR, status=getattr(error, "status_code", None))
    except Exception as error:
        return Reading(text, error=type(error).__name__)


def difference(expected: Reading, theirs: Reading) -> str:
    """In which fields it read something else, and what; empty when it read as expected.

    An error is as good as another one when it is an error of the client's own and the text before it is the same.
    """
    if expected.error and theirs.error == _ITS_ERROR:
        theirs = theirs._replace(error=expected.error, status=expected.status)
    shown = [f"{field}: {_shown(theirs, field)}" for field in Reading._fields if _differs(expected, theirs, field)]
    return "; ".join(shown)


def _differs(expected: Reading, theirs: Reading, field: str) -> bool:
    if field == "status":  # it has none where the answer's own was 200
        return False
    if theirs.error and field not in ("error", "text"):
        return False
    return bool(getattr(expected, field) != getattr(theirs, field))


def _shown(reading: Reading, field: str) -> str:
    value = getattr(reading, field)
    if field == "calls":
        value = ", ".join(f"{name} {args}" for name, args in value)
    elif field == "usage":
        value = "/".join(map(str, value or ()))
    return str(value).encode("utf-8", "backslashreplace").decode() or "none"


def _text_of(state: Any) -> str:
    choices = state.current_completion_snapshot.choices
    return str(choices[0].message.content or "") if choices else ""


def _reading(snapshot: Any) -> Reading:
    if not snapshot.choices:
        return Reading()
    choice = snapshot.choices[0]
    message = choice.message
    usage = snapshot.usage
    extra = message.model_extra or {}
    return Reading(
        text=message.content if isinstance(message.content, str) else str(message.content or ""),
        thought=extra.get("reasoning_content") or extra.get("reasoning") or "",
        calls=tuple(_call(call) for call in message.tool_calls or ()),
        finish=_FINISH.get(choice.finish_reason, str(choice.finish_reason)),
        usage=usage and (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
    )


def _call(call: Any) -> ReadCall:
    """A call; arguments that are no JSON stay as they came."""
    name, arguments = call.function.name or "", call.function.arguments
    try:
        return ReadCall.of(name, json.loads(arguments))
    except (TypeError, ValueError):
        return ReadCall(name, repr(arguments))
