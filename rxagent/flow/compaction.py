"""Compaction: summaries take the place of older events in what models are sent; the log itself is never cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, cast, final

from reactivex import Observable

from rxagent.errors import ConfigError
from rxagent.events import Content, Event, EventActions, EventCompaction, new_event_id
from rxagent.invocation import Invocation, InvocationContext
from rxagent.models import LlmResponse
from rxagent.streams import CancelScope, pull, settle

from .compaction_range import fitting
from .compaction_summarizer import BaseEventSummarizer
from .compaction_windows import before_the_tail, known_prompt_tokens, last_summary, sliding_window, text_size
from .contents import History, IncludeContents

__all__ = ["EventsCompactionConfig", "compact_after_run", "compact_before_request"]


@final
class EventsCompactionConfig:
    """When older events are summarised. Two ways, of which one must be given; both may be (ADK's names).

    compaction_interval, overlap_size: after each N-th run its events and those of the runs since the last summary, and
    of so many runs before, are summarised (a sliding window).
    token_threshold, event_retention_size: before a model call whose last known prompt had more tokens, all but the
    newest N events and the last summary are summarised. Without a known prompt a quarter of the characters counts.
    summarizer: makes the summaries; without one, the root agent's model is asked.

    Calls that are owed an answer, and calls whose answer is not summarised with them, are never summarised.
    Raises ConfigError for half of a pair, for none, and for numbers that make no sense.
    """

    __slots__ = ("compaction_interval", "event_retention_size", "overlap_size", "summarizer", "token_threshold")

    def __init__(
        self,
        *,
        compaction_interval: int | None = None,
        overlap_size: int | None = None,
        token_threshold: int | None = None,
        event_retention_size: int | None = None,
        summarizer: BaseEventSummarizer | None = None,
    ) -> None:
        _check_pair("compaction_interval", compaction_interval, 1, "overlap_size", overlap_size)
        _check_pair("token_threshold", token_threshold, 0, "event_retention_size", event_retention_size)
        if compaction_interval is None and token_threshold is None:
            raise ConfigError(
                "say when to summarise: give compaction_interval and overlap_size, "
                "or token_threshold and event_retention_size"
            )
        self.compaction_interval = compaction_interval
        self.overlap_size = overlap_size
        self.token_threshold = token_threshold
        self.event_retention_size = event_retention_size
        self.summarizer = summarizer

    def summarized_by(self, summarizer: BaseEventSummarizer) -> EventsCompactionConfig:
        """The same with this summarizer."""
        return EventsCompactionConfig(
            compaction_interval=self.compaction_interval,
            overlap_size=self.overlap_size,
            token_threshold=self.token_threshold,
            event_retention_size=self.event_retention_size,
            summarizer=summarizer,
        )


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


def _check_pair(name: str, value: int | None, least: int, other_name: str, other: int | None) -> None:
    if (value is None) != (other is None):
        raise ConfigError(f"{name} and {other_name} belong together; give both, or neither")
    if value is not None and value < least:
        raise ConfigError(f"{name} must be at least {least}, not {value}")
    if other is not None and other < 0:
        raise ConfigError(f"{other_name} must be non-negative, not {other}")
