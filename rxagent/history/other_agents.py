"""What other agents said and did, told to an agent as context (ADK Java, Contents)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from rxagent.events import Content, FunctionCall, FunctionResponse, Part

__all__ = ["as_context", "call_as_context", "part_as_context", "response_as_context"]

_HEAD = Part(text="For context:")


def as_context(parts: Iterable[Part]) -> Content:
    """One user content of these parts, with the words that open it."""
    return Content(role="user", parts=(_HEAD, *parts))


def call_as_context(author: str | None, call: FunctionCall) -> Part:
    """A call, in words."""
    return Part(text=f"[{author}] called tool `{call.name}` with parameters: {_json(call.args)}")


def response_as_context(author: str | None, response: FunctionResponse) -> Part:
    """A response, in words."""
    return Part(text=f"[{author}] `{response.name}` tool returned result: {_json(response.response)}")


def part_as_context(author: str | None, part: Part) -> Part | None:
    """Any other part: texts in words, files and code as they are, thoughts and all else not at all."""
    if part.thought:
        return None
    if part.text is not None:
        return Part(text=f"[{author}] said: {part.text}") if part.text.strip() else None
    if part.inline_data or part.file_data or part.executable_code or part.code_execution_result:
        return part
    return None


def _json(value: dict[str, Any] | None) -> str:
    return json.dumps(value or {}, ensure_ascii=False, separators=(",", ":"), default=str)
