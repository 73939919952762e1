"""When, and by whom, older events are summarised."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, final

from rxagent.errors import ConfigError
from rxagent.events import Event

__all__ = ["BaseEventSummarizer", "EventsCompactionConfig"]


class BaseEventSummarizer(ABC):
    """Makes a summary of events. One object serves many runs at once."""

    @abstractmethod
    def summarize_events(self, events: Sequence[Event]) -> Any:
        """The summary of these events, oldest first: a text, a Content or an LlmResponse; None: no summary.

        It may be deferred: an awaitable, or an Observable, of which the first value counts. An error fails the run.
        """


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


def _check_pair(name: str, value: int | None, least: int, other_name: str, other: int | None) -> None:
    if (value is None) != (other is None):
        raise ConfigError(f"{name} and {other_name} belong together; give both, or neither")
    if value is not None and value < least:
        raise ConfigError(f"{name} must be at least {least}, not {value}")
    if other is not None and other < 0:
        raise ConfigError(f"{other_name} must be non-negative, not {other}")
