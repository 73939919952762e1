"""What is stored, as JSON text: events and the values of the state."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import PydanticSerializationError, ValidationError, to_json

from rxagent.errors import AppendError, StoreCorruptError
from rxagent.events import Event

__all__ = ["event_of", "event_text", "value_of", "value_text"]

_UNSUITABLE = (PydanticSerializationError, ValueError, TypeError, RecursionError)


def event_text(event: Event) -> str:
    """The event as ADK's JSON, without `seq`. Raises AppendError for what JSON cannot hold."""
    try:
        return event.model_dump_json(by_alias=True)
    except _UNSUITABLE as error:
        raise AppendError(
            f"event {event.id!r} of {event.author!r} cannot be stored: {error}; "
            "arguments, results, state and metadata must be JSON values"
        ) from error


def event_of(text: str, seq: int) -> Event:
    """The event that was stored under this sequence number."""
    try:
        return Event.model_validate_json(text).model_copy(update={"seq": seq})
    except ValidationError as error:
        raise StoreCorruptError(
            f"event {seq} of the session is damaged; restore the file from a copy: {error}"
        ) from error


def value_text(key: str, value: Any) -> str:
    """A state value as JSON. Raises AppendError for what JSON cannot hold."""
    try:
        return to_json(value, by_alias=True).decode()
    except _UNSUITABLE as error:
        raise AppendError(f"state key {key!r} cannot be stored: {error}; state values must be JSON values") from error


def value_of(text: str) -> Any:
    """The state value that was stored as this text."""
    return json.loads(text)
