"""LlmRequest to the JSON of a chat-completions request (OpenAI's API reference; ADK Java, ChatCompletionsRequest)."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from pydantic_core import to_json

from rxagent.events import Content, FunctionCall, FunctionResponse, Part

from .request import GenerateContentConfig, LlmRequest
from .wire_ids import CallIds

__all__ = ["request_body", "request_json"]

Json: TypeAlias = dict[str, Any]

_REASONING_MODEL: Final = re.compile(r"o\d+(-.*)?$")
_COMPLETION_LIMIT: Final = re.compile(r"(o\d+|gpt-[5-9])([-.].*)?$")  # these refuse `max_tokens`
_TOOL_CHOICES: Final = frozenset({"auto", "required", "none"})
_SAME_NAME: Final = ("temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty", "seed")
_NO_PARAMETERS: Final = {"type": "object", "properties": {}}


def request_json(request: LlmRequest, model: str) -> bytes:
    """The request's body as UTF-8 JSON. `model` is used when the request names none."""
    return _json(request_body(request, model))


def request_body(request: LlmRequest, model: str) -> Json:
    """The request's body.

    It always asks for a stream with usage: a server notices a client that has gone only while it is streaming.
    The keys of `config.extra_body` are merged last and replace what stands there.
    """
    name = request.model or model
    body: Json = {
        "model": name,
        "messages": [*_system(request.system_instruction, name), *_messages(request.contents)],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    tools = _tools(request)
    if tools:
        body["tools"] = tools
        if request.config.tool_choice is not None:
            body["tool_choice"] = _tool_choice(request.config.tool_choice)
    body.update(_config(request.config, name))
    body.update(request.config.extra_body or {})
    return body


# -- messages ----------------------------------------------------------------------------------------------------------


def _system(instruction: str, model: str) -> Iterator[Json]:
    if instruction:
        role = "developer" if _REASONING_MODEL.match(model) else "system"
        yield {"role": role, "content": instruction}


def _messages(contents: Iterable[Content]) -> Iterator[Json]:
    ids = CallIds()
    for content in contents:
        parts = content.parts or ()
        if content.role in ("model", "assistant"):
            yield from _assistant(parts, ids)
        else:
            yield from _tool_messages(parts, ids)
            yield from _user(parts)


def _assistant(parts: tuple[Part, ...], ids: CallIds) -> Iterator[Json]:
    text = "".join(_spoken(part) for part in parts)
    calls = [_call(part.function_call, part, ids) for part in parts if part.function_call is not None]
    if calls:
        yield {"role": "assistant", "content": text or None, "tool_calls": calls}
    elif text:  # a message of nothing but thoughts says nothing
        yield {"role": "assistant", "content": text}


def _call(call: FunctionCall, part: Part, ids: CallIds) -> Json:
    function = {"name": call.name or "", "arguments": _json(call.args or {}).decode()}
    entry: Json = {"id": ids.of_call(call), "type": "function", "function": function}
    if part.thought_signature:  # Gemini behind this protocol wants it back
        entry["extra_content"] = {"google": {"thought_signature": part.thought_signature}}
    return entry


def _tool_messages(parts: tuple[Part, ...], ids: CallIds) -> Iterator[Json]:
    for part in parts:
        if (response := part.function_response) is not None:
            yield {"role": "tool", "tool_call_id": ids.of_response(response), "content": _result(response)}


def _result(response: FunctionResponse) -> str:
    return _json(response.response if response.response is not None else {}).decode()


def _user(parts: tuple[Part, ...]) -> Iterator[Json]:
    pieces = [piece for part in parts if (piece := _piece(part)) is not None]
    if not pieces:
        return
    if all(piece["type"] == "text" for piece in pieces):  # a plain string is what every server takes
        yield {"role": "user", "content": "\n".join(piece["text"] for piece in pieces)}
    else:
        yield {"role": "user", "content": pieces}


def _piece(part: Part) -> Json | None:
    if (blob := part.inline_data) is not None:
        kind = blob.mime_type or "application/octet-stream"
        uri = f"data:{kind};base64,{base64.b64encode(blob.data or b'').decode()}"
        if kind.startswith("image/"):
            return {"type": "image_url", "image_url": {"url": uri}}
        return {"type": "file", "file": {"filename": blob.display_name or "file", "file_data": uri}}
    if (file := part.file_data) is not None:
        if (file.mime_type or "").startswith("image/"):
            return {"type": "image_url", "image_url": {"url": file.file_uri}}
        return {"type": "text", "text": f"[{file.mime_type or 'file'}: {file.file_uri}]"}
    text = _spoken(part)
    return {"type": "text", "text": text} if text else None


def _spoken(part: Part) -> str:
    """What a part says as text; thoughts are not sent."""
    if part.thought:
        return ""
    if part.text:
        return part.text
    if part.executable_code is not None:
        return f"\n```{(part.executable_code.language or '').lower()}\n{part.executable_code.code or ''}\n```\n"
    if part.code_execution_result is not None:
        return f"\n```\n{part.code_execution_result.output or ''}\n```\n"
    return ""


# -- tools and config --------------------------------------------------------------------------------------------------


def _tools(request: LlmRequest) -> list[Json]:
    return [
        {
            "type": "function",
            "function": {
                "name": declared.name,
                "description": declared.description,
                "parameters": declared.parameters or _NO_PARAMETERS,
            },
        }
        for declared in request.declarations()
    ]


def _tool_choice(choice: str) -> str | Json:
    return choice if choice in _TOOL_CHOICES else {"type": "function", "function": {"name": choice}}


def _config(config: GenerateContentConfig, model: str) -> Json:
    body = {name: value for name in _SAME_NAME if (value := getattr(config, name)) is not None}
    if config.max_output_tokens is not None:
        body["max_completion_tokens" if _COMPLETION_LIMIT.match(model) else "max_tokens"] = config.max_output_tokens
    if config.stop_sequences:
        body["stop"] = list(config.stop_sequences)
    if config.response_schema is not None:
        schema = {"name": "response_schema", "schema": config.response_schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif config.response_mime_type == "application/json":
        body["response_format"] = {"type": "json_object"}
    body.update(config.model_extra or {})  # what the class does not know goes out as it is
    return body


def _json(value: object) -> bytes:
    """JSON that never fails: unknown objects as their text, NaN as null, lone surrogates replaced."""
    try:
        return to_json(value, inf_nan_mode="null", serialize_unknown=True)
    except (UnicodeError, ValueError):
        return to_json(_without_surrogates(value), inf_nan_mode="null", serialize_unknown=True)


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value
