"""Speech: what one agent says and thinks in a model call, as AG-UI messages that open, grow and close."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, final

from ag_ui.core import (
    BaseEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

from rxagent.events import new_event_id

__all__ = ["Speech"]

_Kind: TypeAlias = Literal["text", "reasoning"]
_KINDS: Final[tuple[_Kind, ...]] = ("reasoning", "text")


@final
class Speech:
    """Partial events come in pieces, the final one repeats the whole: what was not sent yet is sent then.

    marks: fields of every event, such as whose it is. is_garbled: pieces were lost in the middle of a text, so that
    the client's copy is not the whole.
    """

    __slots__ = ("_author", "_ids", "_marks", "_open", "_sent", "is_garbled")

    def __init__(self, author: str, marks: Mapping[str, Any]) -> None:
        self._author = author
        self._marks = dict(marks)
        self._open: _Kind | None = None
        self._ids: dict[_Kind, str] = {}
        self._sent: dict[_Kind, str] = {}
        self.is_garbled = False

    @property
    def open_text(self) -> str | None:
        """The id of the text that is open."""
        return self._ids.get("text") if self._open == "text" else None

    def partial(self, parts: list[Mapping[str, Any]]) -> list[BaseEvent]:
        """A piece."""
        events: list[BaseEvent] = []
        for part in parts:
            if text := part.get("text"):
                events += self._say(_kind_of(part), text)
        return events

    def whole(self, parts: list[Mapping[str, Any]], event_id: str) -> tuple[list[BaseEvent], str]:
        """The final event; what it opens is closed. Also the id of the message that its text became."""
        events: list[BaseEvent] = []
        for kind in _KINDS:
            text = "".join(part.get("text") or "" for part in parts if _kind_of(part) == kind)
            sent = self._sent.get(kind, "")
            if text.startswith(sent):
                events += self._say(kind, text[len(sent) :], event_id)
            elif text:
                self.is_garbled = True
        events += self.close()
        message_id = self._ids.get("text", event_id)
        self._ids, self._sent = {}, {}
        return events, message_id

    def close(self) -> list[BaseEvent]:
        """Nothing more is said of what is open."""
        kind, self._open = self._open, None
        if kind is None:
            return []
        message_id = self._ids[kind]
        if kind == "text":
            return [TextMessageEndEvent(message_id=message_id, **self._marks)]
        return [
            ReasoningMessageEndEvent(message_id=message_id, **self._marks),
            ReasoningEndEvent(message_id=message_id, **self._marks),
        ]

    def _say(self, kind: _Kind, text: str, event_id: str | None = None) -> list[BaseEvent]:
        if not text:
            return []
        events: list[BaseEvent] = []
        if self._open != kind:
            events = self.close()
            self._open = kind
            fresh = event_id if event_id and kind == "text" else new_event_id()
            message_id = self._ids.setdefault(kind, fresh)  # the same id once more goes on with that message
            events += self._opened(kind, message_id)
        self._sent[kind] = self._sent.get(kind, "") + text
        make = TextMessageContentEvent if kind == "text" else ReasoningMessageContentEvent
        return [*events, make(message_id=self._ids[kind], delta=text, **self._marks)]

    def _opened(self, kind: _Kind, message_id: str) -> list[BaseEvent]:
        if kind == "text":
            return [TextMessageStartEvent(message_id=message_id, role="assistant", name=self._author, **self._marks)]
        return [
            ReasoningStartEvent(message_id=message_id, **self._marks),
            ReasoningMessageStartEvent(message_id=message_id, **self._marks),
        ]


def _kind_of(part: Mapping[str, Any]) -> _Kind:
    return "reasoning" if part.get("thought") else "text"
