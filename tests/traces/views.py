"""Views: rxagent's values in the form in which the traces hold ADK Java's."""

from __future__ import annotations

import json
import re
from typing import Any

from rxagent.errors import RxAgentError
from rxagent.events import Content, Event
from rxagent.models import LlmRequest, LlmResponse

__all__ = ["DeclaredError", "brief", "content_of", "error_view", "event_view", "message_view", "request_view", "what"]

ID = re.compile(r"(adk-|e-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

_JAVA_CLASSES = {
    "SessionNotFoundError": "IllegalArgumentException",
    "UsageError": "IllegalArgumentException",
    "ConfigError": "IllegalStateException",
    "LlmCallsLimitExceededError": "LlmCallsLimitExceededException",
}


class DeclaredError(Exception):
    """An error that a scenario declares, with the name of its Java class."""

    def __init__(self, declared: Any) -> None:
        text = isinstance(declared, str)
        super().__init__(declared if text else declared.get("message", ""))
        self.java_class = "RuntimeException" if text else declared.get("class", "RuntimeException")


def error_view(error: BaseException) -> dict[str, Any]:
    name = error.java_class if isinstance(error, DeclaredError) else type(error).__name__
    message = str(error)
    if isinstance(error, RxAgentError):
        message = message.partition("; ")[0]  # what happened, without what to do next
    return {"class": _JAVA_CLASSES.get(name, name), "message": message}


def event_view(event: Event) -> dict[str, Any]:
    """ADK's JSON without timestamp and without empty members of actions."""
    view: dict[str, Any] = json.loads(event.model_dump_json(by_alias=True))
    view.pop("timestamp", None)
    actions = {
        key: value
        for key, value in view.pop("actions", {}).items()
        if not (
            value is None
            or (value == {} and key != "agentState")
            or value == []
            or (value is False and key in ("endOfAgent", "endInvocation"))
        )
    }
    if actions:
        view["actions"] = actions
    if "longRunningToolIds" in view:  # sorted as the symbols are: by appearance
        made = [call.id for call in event.function_calls if call.id and ID.fullmatch(call.id)]
        view["longRunningToolIds"].sort(key=lambda id: (made.index(id) if id in made else -1, id))
    return view


def what(event: Event) -> str:
    """A short text for reading, as the recorder of the traces makes it."""
    out: list[str] = []
    for part in event.parts:
        if part.text is not None:
            text = ID.sub("<id>", part.text)
            out.append("text:" + (text[:40] + "..." if len(text) > 40 else text))
        if part.function_call is not None and part.function_call.name is not None:
            out.append(f"call:{part.function_call.name}")
        if part.function_response is not None and part.function_response.name is not None:
            out.append(f"response:{part.function_response.name}")
    if not out:
        if event.error_code:
            out.append(f"error:{event.error_code}")
        elif event.actions.compaction is not None:
            out.append("summary")
        else:
            out.append("state" if event.actions.state_delta else "empty")
    return f"{event.author}{' partial ' if event.partial else ' '}{' '.join(out)}"


def message_view(content: Content) -> str:
    return " ".join(
        f"call:{part.function_call.name or '?'}"
        if part.function_call is not None
        else f"response:{part.function_response.name or '?'}"
        if part.function_response is not None
        else f"text:{part.text}"
        if part.text is not None
        else "other"
        for part in content.parts or ()
    )


def brief(response: LlmResponse) -> str:
    said = (
        message_view(response.content)
        if response.content is not None
        else f"error:{response.error_code}"
        if response.error_code
        else "empty"
    )
    return ("partial " if response.partial else "") + said


def content_of(declared: Any) -> Content:
    """A message or content; a text means role user, one part."""
    return Content.user(declared) if isinstance(declared, str) else Content.model_validate(declared)


def request_view(request: LlmRequest, stream: bool) -> dict[str, Any]:
    view: dict[str, Any] = {
        "stream": stream,
        "contents": [json.loads(content.model_dump_json(by_alias=True)) for content in request.contents],
    }
    if request.system_instruction:
        view["system_instruction"] = request.system_instruction
    if declared := request.declarations():
        view["tools"] = [json.loads(one.model_dump_json(by_alias=True)) for one in declared]
    config = request.config
    if config.response_schema is not None:
        view["response_schema"] = config.response_schema
    if config.response_mime_type is not None:
        view["response_mime_type"] = config.response_mime_type
    return view
