"""Which events are due for a summary (ADK Java, SlidingWindowEventCompactor and TailRetentionEventCompactor)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rxagent.events import Content, Event
from rxagent.history.compaction_range import visible
from rxagent.history.sealing import is_seal

__all__ = ["before_the_tail", "known_prompt_tokens", "last_summary", "sliding_window", "text_size"]


def last_summary(events: Sequence[Event]) -> tuple[int, Event] | None:
    """The newest summary and its position."""
    for position in range(len(events) - 1, -1, -1):
        if events[position].actions.compaction is not None:
            return position, events[position]
    return None


def sliding_window(events: Sequence[Event], interval: int, overlap: int) -> list[int]:
    """Positions of the events of the runs since the last summary, once there are `interval` of them, and of `overlap`
    runs before; empty when it is not time yet.

    ::

        interval 2, overlap 1     run 1  run 2  (1-2)  run 3  run 4  (2-4)
    """
    last = last_summary(events)
    at = len(events)
    new: set[str | None] = set()
    while at and (last is None or _is_new(events[at - 1], at - 1, last)):
        at -= 1
        if events[at].actions.compaction is None and not is_seal(events[at]):  # a seal carries an older run's id
            new.add(events[at].invocation_id)
    if len(new) < interval:
        return []
    older: set[str | None] = set()
    while at:
        event = events[at - 1]
        if event.actions.compaction is None and event.invocation_id not in new | older:
            if len(older) == overlap:
                break
            older.add(event.invocation_id)
        at -= 1
    return [position for position in range(at, len(events)) if events[position].parts]


def before_the_tail(events: Sequence[Event], retention: int) -> list[int]:
    """Positions of what models still see of the log, without summaries and without the newest `retention` events."""
    seen = visible(events)
    return seen[: max(len(seen) - retention, 0)]


def known_prompt_tokens(events: Sequence[Event]) -> int | None:
    """The size of the newest prompt, as the model told it; None when it has told none since the last summary."""
    for event in reversed(events):
        if event.actions.compaction is not None:
            return None
        if event.usage_metadata is not None and event.usage_metadata.prompt_token_count is not None:
            return event.usage_metadata.prompt_token_count
    return None


def text_size(contents: Iterable[Content]) -> int:
    """Characters of all that is said, called and answered."""
    return sum(
        len(part.text or "")
        + (len(str(part.function_call.args or "")) if part.function_call is not None else 0)
        + (len(str(part.function_response.response or "")) if part.function_response is not None else 0)
        for content in contents
        for part in content.parts or ()
    )


def _is_new(event: Event, position: int, last: tuple[int, Event]) -> bool:
    """True for what came after the last summary, and for what stands before it and was left out of it."""
    compaction = last[1].actions.compaction
    end = compaction.end_timestamp if compaction is not None else None
    return position >= last[0] or event.actions.compaction is not None or (end is not None and event.timestamp > end)
