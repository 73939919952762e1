"""Compaction: summaries take the place of older events in what models are sent; the log itself is never cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, cast

from reactivex import Observable

from rxagent.events import Content, Event, EventActions, EventCompaction, new_event_id
from rxagent.history.compaction_range import fitting
from rxagent.history.contents import History, IncludeContents
from rxagent.invocation import Invocation, InvocationContext
from rxagent.models import LlmResponse
from rxagent.streams import CancelScope, pull, settle

from .compaction_windows import before_the_tail, known_prompt_tokens, last_summary, sliding_window, text_size

__all__ = ["compact_after_run", "compact_before_request"]


def compact_after_run(invocation: Invocation, scope: CancelScope) -> None:
    """Summarise the window of the last runs when it is time; the summary is stored and not shown. May block.

    A stop of `scope` leaves it by Stopped, and nothing is stored. Raises what the summarizer and the service raise.
    """
    config = invocation.compaction
    if config is None or config.compaction_interval is None:
        return
    events = invocation.session.events
    due = sliding_window(events, config.compaction_interval, config.overlap_size or 0)
    if due and (chosen := fitting(events, due)):
        _summarise(invocation, [events[position] for position in chosen], scope)


def compact_before_request(context: InvocationContext, history: History, include: IncludeContents) -> None:
    """Summarise all but the newest events when the agent's last prompt was too long; `history` follows. May block.

    As `compact_after_run` otherwise.
    """
    invocation = context.invocation
    config = invocation.compaction
    if config is None or config.token_threshold is None:
        return
    events = context.session.events
    tokens = known_prompt_tokens(events)
    if tokens is None:
        tokens = text_size(history.contents(include)) // 4
    if tokens <= config.token_threshold:
        return
    last = last_summary(events)
    before = last[1].actions.compaction if last is not None else None
    due = before_the_tail(events, config.event_retention_size or 0)
    chosen = fitting(events, due, before.start_timestamp if before is not None else None)
    if chosen:
        _summarise(invocation, [events[position] for position in chosen], context.scope, before)
        history.follow(context.session.events)


def _summarise(
    invocation: Invocation, events: Sequence[Event], scope: CancelScope, before: EventCompaction | None = None
) -> None:
    """Ask for the summary, and store it. before: the last one, which the new one takes in."""
    assert invocation.compaction is not None
    summarizer = invocation.compaction.summarizer
    assert summarizer is not None  # the App has seen to it
    told = list(events)
    if before is not None:
        told.insert(0, Event(author="model", content=before.compacted_content))
    answer = _settled(summarizer.summarize_events(told), scope)
    if isinstance(answer, LlmResponse):
        if answer.usage_metadata is not None:
            invocation.usage.add(answer.usage_metadata)
        answer = answer.content
    content = Content.model(answer) if isinstance(answer, str) else answer
    if content is None or not content.text.strip():
        return
    times = [event.timestamp for event in events]
    start = before.start_timestamp if before is not None else None
    compaction = EventCompaction(
        start_timestamp=min(times) if start is None else start,
        end_timestamp=max(times),
        compacted_content=content.model_copy(update={"role": "model"}),
    )
    summary = Event(invocation_id=new_event_id(), author="user", actions=EventActions(compaction=compaction))
    invocation.append_unseen((summary,))


def _settled(answer: Any, scope: CancelScope) -> Any:
    """The answer, or the first value of an Observable."""
    if not isinstance(answer, Observable):
        return settle(answer, scope)
    items: Iterator[Any] = pull(answer, scope)
    with closing(cast(Any, items)):
        return next(items, None)
