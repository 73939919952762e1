"""Event: one entry of a session's log, or a partial one that is only shown."""

from __future__ import annotations

import os
import random
import time
from typing import Annotated, Any, TypeAlias

from pydantic import Field, PlainSerializer

from .actions import EventActions
from .content import Content, FunctionCall, FunctionResponse, Part
from .value import Milliseconds, Value

__all__ = ["Event", "UsageMetadata", "new_event_id", "now_ms"]


_random = random.Random()  # its own: a program that seeds the shared one must not get the same ids in every process
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random.seed)


_FIXED = 0xF << 76 | 0x3 << 62  # where a UUID holds its version and its variant (RFC 9562, 5.4)
_VERSION_4 = 0x4 << 76 | 0x2 << 62


def new_event_id() -> str:
    """A fresh id for an event: a random UUID (version 4)."""
    digits = f"{_random.getrandbits(128) & ~_FIXED | _VERSION_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def now_ms() -> int:
    """Now, in milliseconds since 1970 (ADK's unit)."""
    return time.time_ns() // 1_000_000


class UsageMetadata(Value):
    """The tokens that a model call used."""

    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    total_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None


CallIds: TypeAlias = Annotated[frozenset[str], PlainSerializer(sorted, return_type=list[str], when_used="json")]
"""Ids of calls; in JSON a sorted list."""


class Event(Value):
    """What an agent, a user or the runtime did, as one immutable record.

    A *partial* event is shown and never stored; every other one is stored, then shown. `seq` is the place in the log
    (from 1), known once the event is stored; it orders a session, the timestamp does not. `interrupted` belongs to
    live streams and is never set by a dispose or an abort. Two events are equal when all their fields are, `seq`
    included.
    """

    id: str = Field(default_factory=new_event_id)
    invocation_id: str | None = None
    author: str | None = None
    content: Content | None = None
    actions: EventActions = Field(default_factory=EventActions)
    long_running_tool_ids: CallIds | None = None
    partial: bool | None = None
    turn_complete: bool | None = None
    error_code: str | None = None
    error_message: str | None = None
    finish_reason: str | None = None
    usage_metadata: UsageMetadata | None = None
    avg_logprobs: float | None = None
    interrupted: bool | None = None
    branch: str | None = None
    grounding_metadata: Any = None
    custom_metadata: dict[str, Any] | None = None
    model_version: str | None = None
    input_transcription: Any = None
    output_transcription: Any = None
    timestamp: Milliseconds = Field(default_factory=now_ms)
    seq: int | None = Field(default=None, exclude=True)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content's parts, or none."""
        return (self.content.parts or ()) if self.content is not None else ()

    @property
    def text(self) -> str:
        """The text of the content, without thoughts; empty when there is none."""
        return self.content.text if self.content is not None else ""

    @property
    def function_calls(self) -> tuple[FunctionCall, ...]:
        """The calls in this event, in order."""
        return tuple(part.function_call for part in self.parts if part.function_call is not None)

    @property
    def function_responses(self) -> tuple[FunctionResponse, ...]:
        """The responses in this event, in order."""
        return tuple(part.function_response for part in self.parts if part.function_response is not None)

    def __hash__(self) -> int:
        return hash(self.id)

    def final_response(self) -> bool:
        """True when this event ends its agent's turn (ADK Java, Event.finalResponse).

        So does one that skips the summary or holds a long-running call; else one that is not partial, has no call
        and no response, and does not end in the result of executed code. An event without content is final.
        """
        if self.actions.skip_summarization or self.long_running_tool_ids:
            return True
        parts = self.parts
        return not (
            self.partial
            or any(part.function_call is not None or part.function_response is not None for part in parts)
            or (parts and parts[-1].code_execution_result is not None)
        )
