"""A session's log as AG-UI messages, and back: what a client has said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ag_ui.core import AssistantMessage, FunctionCall, Message, ToolCall, ToolMessage, UserMessage

from rxagent.events import Content, Event, Part
from rxagent.events.confirmation import REQUEST_CONFIRMATION

__all__ = ["content_of", "dangling_calls", "messages_of", "result_text", "said_ids"]


def messages_of(events: Iterable[Event], ids: Mapping[str, str]) -> list[Message]:
    """The conversation so far. ids: of messages that were streamed, by the id of the event that stored them.

    Questions are no messages, they are interrupts; of several results of a call the last one counts.
    """
    found: dict[str, Message] = {}
    for event in events:
        message_id = ids.get(event.id, event.id)
        if event.author == "user":
            if event.text:
                found[message_id] = UserMessage(id=message_id, content=event.text)
        elif event.text or any(call.name != REQUEST_CONFIRMATION for call in event.function_calls):
            calls = [
                ToolCall(
                    id=call.id or "", function=FunctionCall(name=call.name or "", arguments=json.dumps(call.args or {}))
                )
                for call in event.function_calls
                if call.name != REQUEST_CONFIRMATION
            ]
            found[message_id] = AssistantMessage(id=message_id, content=event.text or None, tool_calls=calls or None)
        for response in event.function_responses:
            if response.name != REQUEST_CONFIRMATION and response.id:
                text, result_id = result_text(response.response), f"{event.id}/{response.id}"
                if event.author == "user" and (plain := _told_text(response.response)) is not None:
                    text = plain
                found[f"result of {response.id}"] = ToolMessage(
                    id=ids.get(result_id, result_id), content=text, tool_call_id=response.id
                )
    return list(found.values())


def said_ids(events: Iterable[Event], messages: Iterable[Message]) -> dict[str, str]:
    """The client's ids of what the user has said, and of results, by our ids; so that they keep their places."""
    messages = list(messages)
    said = [message for message in messages if isinstance(message, UserMessage)]
    results = {message.tool_call_id: message.id for message in messages if isinstance(message, ToolMessage)}
    found: dict[str, str] = {}
    for event in events:
        for response in event.function_responses:
            if response.id in results:
                found[f"{event.id}/{response.id}"] = results[response.id]
        if event.author != "user" or not event.text:
            continue
        at = next((at for at, message in enumerate(said) if content_of(message).text == event.text), None)
        if at is not None:
            found[event.id] = said[at].id
            del said[: at + 1]
    return found


def dangling_calls(messages: Iterable[Message]) -> set[str]:
    """Ids of calls that a client has seen begin and not end: its run broke off."""
    called: set[str] = set()
    answered: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage):
            called.update(call.id for call in message.tool_calls or ())
        elif isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
    return called - answered


def content_of(message: UserMessage) -> Content:
    """What a user says, as a new message; parts that are no text and no inline data are left out."""
    if isinstance(message.content, str):
        return Content.user(message.content)
    parts = [_part(one.model_dump(by_alias=True, exclude_none=True)) for one in message.content]
    return Content(role="user", parts=tuple(part for part in parts if part is not None))


def _part(given: Mapping[str, Any]) -> Part | None:
    if given.get("type") == "text":
        return Part(text=given.get("text"))
    source = given.get("source") if isinstance(given.get("source"), Mapping) else given
    assert source is not None
    data, mime_type = source.get("value") or source.get("data"), source.get("mimeType")
    if not isinstance(data, str) or not mime_type or source.get("type") == "url":
        return None
    return Part.model_validate({"inlineData": {"mimeType": mime_type, "data": data}})


def _told_text(response: Mapping[str, Any] | None) -> str | None:
    """The text that a client has told as a result; None for what was an object."""
    text = (response or {}).get("result")
    return text if isinstance(text, str) and len(response or {}) == 1 else None


def result_text(response: Any) -> str:
    """A tool's result as AG-UI wants it: a text."""
    return json.dumps(response if response is not None else {}, ensure_ascii=False, default=str)
