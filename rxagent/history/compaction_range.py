"""Which events a summary stands for. Writing one and reading one go by the same rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rxagent.events import Content, Event, EventCompaction
from rxagent.events.pairing import LoggedCall, Pairing

__all__ = ["Span", "fitting", "still_needed", "visible"]


class Span(NamedTuple):
    """The times (ms) from `start` to `end`, both included."""

    start: int
    end: int

    def includes(self, event: Event) -> bool:
        """True for an event of a time in between."""
        return self.start <= event.timestamp <= self.end

    def covers(self, other: Span) -> bool:
        """True when `other` lies in it."""
        return self.start <= other.start and other.end <= self.end

    @classmethod
    def of(cls, compaction: EventCompaction | None) -> tuple[Span, Content] | None:
        """A summary's span and its words; None for what is no whole summary."""
        if compaction is None or compaction.start_timestamp is None or compaction.end_timestamp is None:
            return None
        content = compaction.compacted_content
        if content is None or not content.parts:
            return None
        return cls(compaction.start_timestamp, compaction.end_timestamp), content


def still_needed(calls: Iterable[LoggedCall], span: Span) -> set[int]:
    """Positions of the events with calls in the span that a summary of it must not hide.

    A call is needed as long as it is owed an answer, and when an answer stands outside of the span: a model refuses
    an answer without its call. So is a call that a pending question for confirmation asks about.
    """
    calls = list(calls)
    needed = [call for call in calls if span.includes(call.event) and not _is_settled(call, span)]
    asked_about = {id for call in needed if (id := _original_id(call)) is not None}
    needed += [call for call in calls if call.call_id in asked_about and span.includes(call.event)]
    return {call.position for call in needed}


def visible(events: Sequence[Event]) -> list[int]:
    """Positions of the events with content that no summary in this log hides."""
    pairing = Pairing()
    hidden: set[int] = set()
    for position, event in enumerate(events):
        if (summary := Span.of(event.actions.compaction)) is not None:
            hidden |= _hidden(events[:position], pairing.calls, summary[0])
        pairing.read((event,))
    return [position for position, event in enumerate(events) if event.parts and position not in hidden]


def fitting(events: Sequence[Event], wanted: Sequence[int], start: int | None = None) -> list[int]:
    """What of the wanted positions a summary can stand for, so that its span hides exactly these.

    A span is made of times, and times may be equal or go backwards: what would hide an event that was not wanted is
    left out, and so are events that are still needed. start: where the span begins, when earlier than the events.
    """
    calls, seen = Pairing(events).calls, visible(events)
    chosen = list(wanted)
    while chosen:
        times = [events[position].timestamp for position in chosen]
        span = Span(min(times) if start is None else start, max(times))
        hidden = _hidden(events, calls, span)
        kept = [position for position in chosen if position in hidden]
        if len(kept) < len(chosen):
            chosen = kept
            continue
        extra = [position for position in seen if position in hidden and position not in set(chosen)]
        if not extra:
            break
        if behind := [events[position].timestamp for position in extra if position > chosen[0]]:
            chosen = [position for position in chosen if events[position].timestamp < min(behind)]
        else:
            latest = max(events[position].timestamp for position in extra)
            chosen = [position for position in chosen if events[position].timestamp > latest]
    return chosen


def _hidden(events: Sequence[Event], calls: Iterable[LoggedCall], span: Span) -> set[int]:
    return {position for position, event in enumerate(events) if span.includes(event)} - still_needed(calls, span)


def _is_settled(call: LoggedCall, span: Span) -> bool:
    return call.is_answered and all(span.includes(reply.event) for reply in call.replies)


def _original_id(call: LoggedCall) -> str | None:
    original = (call.function_call.args or {}).get("originalFunctionCall")
    return original.get("id") if isinstance(original, dict) else None
