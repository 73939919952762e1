"""Short ways to write a log, and to read the contents made of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rxagent.events import Content, Event, FunctionCall, FunctionResponse, Part
from rxagent.history.contents import build_contents


def user(*parts: Part | str, **fields: Any) -> Event:
    return said("user", *parts, **{"role": "user", **fields})


def said(author: str, *parts: Part | str, role: str | None = "model", **fields: Any) -> Event:
    content = Content(role=role, parts=tuple(Part(text=part) if isinstance(part, str) else part for part in parts))
    return Event(author=author, content=content, **{"invocation_id": "i1", **fields})


def calls(author: str, *parts: Part, pauses: Iterable[str] = (), **fields: Any) -> Event:
    return said(author, *parts, long_running_tool_ids=frozenset(pauses) or None, **fields)


def responds(author: str, *parts: Part, **fields: Any) -> Event:
    return said(author, *parts, role="user", **fields)


def call(id: str | None, name: str = "t", **args: Any) -> Part:
    return Part(function_call=FunctionCall(id=id, name=name, args=args))


def response(id: str | None, name: str | None = "t", **result: Any) -> Part:
    return Part(function_response=FunctionResponse(id=id, name=name, response=result))


def shown(contents: Iterable[Content]) -> list[str]:
    """Each content as a line: `user: hi`, `model: t#X(n=1)`, `user: t#X->{...}`."""
    return [f"{content.role}: " + " | ".join(_shown(part) for part in content.parts or ()) for content in contents]


def sent(*events: Event, agent: str = "root", **options: Any) -> list[str]:
    """What the agent's model is sent, in lines."""
    return shown(build_contents(events, agent_name=agent, **options))


def _shown(part: Part) -> str:
    if part.function_call is not None:
        args = ",".join(f"{key}={value}" for key, value in (part.function_call.args or {}).items())
        return f"{part.function_call.name}#{part.function_call.id}({args})"
    if part.function_response is not None:
        result = part.function_response.response or {}
        words = "pending" if result.get("status") == "pending" else ",".join(f"{k}={v}" for k, v in result.items())
        return f"{part.function_response.name}#{part.function_response.id}->{words}"
    return f"({part.text})" if part.thought else str(part.text)
