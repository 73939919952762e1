"""Summaries in a log, and events at times of their own."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rxagent.events import Content, Event, EventActions, EventCompaction

__all__ = ["summary", "timed"]


def summary(start: int, end: int, text: str = "summary") -> Event:
    compaction = EventCompaction(start_timestamp=start, end_timestamp=end, compacted_content=Content.model(text))
    return Event(author="user", invocation_id="s", actions=EventActions(compaction=compaction))


def timed(*events: Event, times: Sequence[int] = ()) -> list[Event]:
    """The events at the times 1, 2, 3, ..., or at these."""
    return [
        event.model_copy(update={"timestamp": time})
        for event, time in zip(events, times or itertools.count(1), strict=False)
    ]
