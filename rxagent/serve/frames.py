"""Frames: what stands in an event stream (WHATWG HTML, server-sent events)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from rxagent.events import Event, UsageMetadata, now_ms

from .wire_json import dumps, event_json

__all__ = ["KEEP_ALIVE", "Frame", "comment", "error_frame", "event_frame", "outcome_frame"]

KEEP_ALIVE: Final = b": still here\n\n"


class Frame(NamedTuple):
    """An event, ready to be sent.

    seq: its number in the log; None for a partial one. after: the number of the last stored event before it.
    """

    data: bytes
    seq: int | None
    after: int


def event_frame(event: Event, after: int = 0) -> Frame:
    """An event as a frame; a stored one with its sequence number as the id."""
    seq = None if event.partial else event.seq
    head = b"" if seq is None else b"id: %d\n" % seq
    return Frame(b"%sdata: %s\n\n" % (head, dumps(event_json(event))), seq, after)


def comment(text: str) -> bytes:
    """A line that readers skip."""
    return b": %s\n\n" % text.encode()


def error_frame(text: str) -> bytes:
    """What went wrong, in the shape that ADK's clients raise from."""
    return b"event: error\ndata: %s\n\n" % dumps({"error": text})


def outcome_frame(run_id: str, invocation_id: str, outcome: dict[str, Any]) -> bytes:
    """The end. Its data is an event without content: clients of ADK read each `data` line as an event, and its UI gives
    no row to one that could tell of usage alone."""
    event = Event(
        id=f"outcome-{run_id}",
        invocation_id=invocation_id,
        author="rxagent",
        usage_metadata=UsageMetadata(),
        custom_metadata={"outcome": outcome},
        timestamp=now_ms(),
    )
    return b"event: outcome\ndata: %s\n\n" % dumps(event_json(event))
