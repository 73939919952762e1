"""LlmRequest to the JSON of a chat-completions request (OpenAI's API reference; ADK Java, ChatCompletionsRequest)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from .profile import Profile
from .profiles import profile_for
from .request import LlmRequest
from .wire_json import json_bytes
from .wire_messages import messages_of
from .wire_options import ADK_ONLY, check_options, options_of, shape_instruction

__all__ = ["request_body", "request_json"]

Json: TypeAlias = dict[str, Any]

_TOOL_CHOICES: Final = frozenset({"auto", "required", "none"})
_NO_PARAMETERS: Final = {"type": "object", "properties": {}}


def request_json(request: LlmRequest, model: str, profile: Profile | None = None) -> bytes:
    """The request's body as UTF-8 JSON. Raises as `request_body` does."""
    return json_bytes(request_body(request, model, profile))


def request_body(request: LlmRequest, model: str, profile: Profile | None = None) -> Json:
    """The request's body.

    model: used when the request names none. profile: what the server wants; None: the default for the model.
    It always asks for a stream with usage: a server notices a client that has gone only while it is streaming.
    The keys of `config.extra_body` are merged last and replace what stands there.

    Raises ModelRequestError for input that the server does not take, and for options that cannot be honoured.
    """
    name = request.model or model
    profile = profile or profile_for("", name)
    config = request.config
    body: Json = {
        "model": name,
        "messages": [*_system(request, profile), *messages_of(request.contents, profile)],
        "stream": True,
    }
    if profile.stream_usage:
        body["stream_options"] = {"include_usage": True}
    tools = _tools(request)
    if tools:
        body["tools"] = tools
        if config.tool_choice is not None:
            body["tool_choice"] = _tool_choice(config.tool_choice)
        if profile.parallel_calls is not None:
            body["parallel_tool_calls"] = profile.parallel_calls
    options = {**options_of(config, profile), **(config.extra_body or {})}
    check_options(options, profile)
    body.update({name: value for name, value in options.items() if name not in ADK_ONLY})
    return body


def _system(request: LlmRequest, profile: Profile) -> Iterator[Json]:
    said = (request.system_instruction, shape_instruction(request.config, profile))
    instruction = "\n\n".join(text for text in said if text)
    if instruction:
        yield {"role": profile.system_role, "content": instruction}


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
