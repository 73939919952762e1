"""How to generate, on the wire: options, the shape of the answer, and errors for what cannot be honoured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from rxagent.errors import ModelRequestError

from .profile import Profile
from .request import GenerateContentConfig
from .wire_json import json_bytes

__all__ = ["ADK_ONLY", "check_options", "options_of", "shape_instruction"]

Json: TypeAlias = dict[str, Any]

ADK_ONLY: Final = frozenset({"candidate_count", "response_logprobs"})
"""Options of ADK that no server knows; they ask for what is done anyway, or are refused."""

_SAME_NAME: Final = ("temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty", "seed")
_SHAPE: Final = "response_schema"
_COUNTS: Final = frozenset({"n", "best_of", "candidate_count"})
_LOST: Final = {
    "logprobs": "token probabilities have no place in a response",
    "top_logprobs": "token probabilities have no place in a response",
    "response_logprobs": "token probabilities have no place in a response",
    "audio": "an answer in audio has no place in a response",
}


def check_options(options: Mapping[str, Any], profile: Profile) -> None:
    """Raise ModelRequestError for an option whose effect would be lost, or that the server answers with an error."""
    for name, value in options.items():
        if value is None or (value is False and name != "stream"):
            continue
        if name in _COUNTS and value != 1:
            raise _refused(name, "one answer is read; for more, make more calls")
        if name == "stream" and value is not True:
            raise _refused(name, "the wire always streams: only so does a server notice that its client has gone")
        if name == "modalities" and list(value) != ["text"]:
            raise _refused(name, "answers are read as text")
        if name in _LOST and value:
            raise _refused(name, _LOST[name])
        if name in profile.refused:
            raise _refused(name, f"the server refuses it (profile {profile.name!r}); leave it out")


def options_of(config: GenerateContentConfig, profile: Profile) -> Json:
    """The options under the protocol's names; what the class does not know goes out as it is."""
    body = {name: value for name in _SAME_NAME if (value := getattr(config, name)) is not None}
    if config.max_output_tokens is not None:
        body[profile.output_limit] = config.max_output_tokens
    if config.stop_sequences:
        body["stop"] = list(config.stop_sequences)
    if (shape := _response_format(config, profile)) is not None:
        body["response_format"] = shape
    body.update(config.model_extra or {})
    return body


def shape_instruction(config: GenerateContentConfig, profile: Profile) -> str:
    """What the instruction has to say of the answer's shape, where `response_format` cannot."""
    if config.response_schema is None or profile.json_shapes != "object":
        return ""
    schema = json_bytes(config.response_schema).decode()
    return f"Answer with one JSON value that fits this JSON schema, and with nothing else:\n{schema}"


def _response_format(config: GenerateContentConfig, profile: Profile) -> Json | None:
    schema = config.response_schema
    if schema is None and config.response_mime_type != "application/json":
        return None
    if profile.json_shapes == "object" or (schema is None and profile.json_shapes == "both"):
        return {"type": "json_object"}
    shape: Json = {"name": _SHAPE, "schema": {"type": "object"} if schema is None else schema}
    if profile.strict_schema and schema is not None and (strict := _strict(schema)) is not None:
        shape.update(schema=strict, strict=True)
    return {"type": "json_schema", "json_schema": shape}


def _strict(schema: Any) -> Any:
    """The schema as `strict` wants it: objects are closed; None when one has a field that may be absent, or is open.

    https://platform.openai.com/docs/guides/structured-outputs
    """
    if isinstance(schema, list):
        items = [_strict(item) for item in schema]
        return None if any(item is None and old is not None for item, old in zip(items, schema, strict=True)) else items
    if not isinstance(schema, Mapping):
        return schema
    closed = {
        key: value if key in ("enum", "const", "default", "required") else _strict(value)
        for key, value in schema.items()
    }
    if any(value is None and schema[key] is not None for key, value in closed.items()):
        return None
    kinds = schema.get("type")
    if kinds == "object" or (isinstance(kinds, list) and "object" in kinds):
        properties = schema.get("properties")
        is_map = isinstance(properties, Mapping)
        if not is_map or schema.get("additionalProperties") or set(schema.get("required", ())) != set(properties or ()):
            return None
        closed["additionalProperties"] = False
    return closed


def _refused(name: str, why: str) -> ModelRequestError:
    return ModelRequestError(f"the option {name!r} cannot be honoured: {why}", what=name)
