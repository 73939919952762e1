"""Contents to the messages of a chat-completions request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias, final

from rxagent.events import Content, FunctionCall, FunctionResponse, Part

from .profile import Profile
from .wire_extra import replayed_extra
from .wire_ids import CallIds
from .wire_json import json_bytes
from .wire_parts import piece_of, spoken

__all__ = ["messages_of"]

Json: TypeAlias = dict[str, Any]
Parts: TypeAlias = Sequence[Part]


def messages_of(contents: Iterable[Content], profile: Profile) -> list[Json]:
    """The messages of a conversation. Raises ModelRequestError for input that the server does not take."""
    contents = list(contents)
    writer = _Writer(profile)
    for content, with_calls in zip(contents, _turns_with_calls(contents), strict=True):
        writer.add(content, with_calls)
    return writer.messages


@final
class _Writer:
    __slots__ = ("_ids", "_profile", "messages")

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._ids = CallIds(profile.call_ids)
        self.messages: list[Json] = []

    def add(self, content: Content, with_calls: bool) -> None:
        """Write one content; with_calls: the model calls a tool in this turn of the user."""
        parts = content.parts or ()
        if _is_models(content):
            self.messages.extend(self._assistant(parts, with_calls))
        else:
            self.messages.extend(self._tool_messages(parts))
            self.messages.extend(self._user(parts))

    def _assistant(self, parts: Parts, with_calls: bool) -> Iterator[Json]:
        text = "".join(map(spoken, parts))
        calls = [self._call(part.function_call, part) for part in parts if part.function_call is not None]
        message: Json = {"role": "assistant"}
        if text or not calls:
            message["content"] = text
        elif self._profile.content_beside_calls != "absent":
            message["content"] = None if self._profile.content_beside_calls == "null" else ""
        if calls:
            message["tool_calls"] = calls
        message.update(self._echo(parts, with_calls))
        if text or calls:  # a message of nothing but thoughts says nothing
            yield message

    def _echo(self, parts: Parts, with_calls: bool) -> Json:
        """What goes back of an answer besides its text and calls: unknown fields, and its reasoning."""
        profile = self._profile
        echo: Json = {}
        for part in parts:
            if part.function_call is None:
                echo.update(replayed_extra(part, profile.extras))
        wanted = profile.echo_reasoning == "always" or (profile.echo_reasoning == "tool_turns" and with_calls)
        if wanted and "reasoning_details" not in echo:
            reasoning = "".join(part.text or "" for part in parts if part.thought)
            if reasoning or (profile.reasoning_required and with_calls):
                echo[profile.reasoning_field] = reasoning
        return echo

    def _call(self, call: FunctionCall, part: Part) -> Json:
        function = {"name": call.name or "", "arguments": json_bytes(call.args or {}).decode()}
        entry = {"id": self._ids.of_call(call), "type": "function", "function": function}
        return {**replayed_extra(part, self._profile.extras), **entry}

    def _tool_messages(self, parts: Parts) -> Iterator[Json]:
        for part in parts:
            if (response := part.function_response) is not None:
                yield {"role": "tool", "tool_call_id": self._ids.of_response(response), "content": _result(response)}

    def _user(self, parts: Parts) -> Iterator[Json]:
        pieces = [piece for part in parts if (piece := piece_of(part, self._profile)) is not None]
        if not pieces:
            return
        if all(piece["type"] == "text" for piece in pieces):  # a plain string is what every server takes
            yield {"role": "user", "content": "\n".join(piece["text"] for piece in pieces)}
        else:
            yield {"role": "user", "content": pieces}


def _is_models(content: Content) -> bool:
    return content.role in ("model", "assistant")


def _turns_with_calls(contents: Sequence[Content]) -> list[bool]:
    """For each content, whether the model calls a tool in the turn that it belongs to.

    A turn goes from one message of the user to the next; the results of calls do not end it.
    """
    turns: list[int] = []
    calling: set[int] = set()
    turn = 0
    for content in contents:
        parts = content.parts or ()
        if _is_models(content):
            if any(part.function_call is not None for part in parts):
                calling.add(turn)
        elif not any(part.function_response is not None for part in parts):
            turn += 1
        turns.append(turn)
    return [one in calling for one in turns]


def _result(response: FunctionResponse) -> str:
    return json_bytes(response.response if response.response is not None else {}).decode()
