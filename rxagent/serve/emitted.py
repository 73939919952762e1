"""EmittedEvents: what a run emitted, read from its session's log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from rxagent.events import Event
from rxagent.sessions import BaseSessionService, GetSessionConfig, Session
from rxagent.streams import CancelScope, settle

from .run_record import RunRecord

__all__ = ["EmittedEvents", "Page"]

_PAGE: Final = 256  # events of the log that are read at once


class Page(NamedTuple):
    """A stretch of the log: the run's events in it, and the number of its last event. is_last: the log ends there."""

    events: list[Event]
    end: int
    is_last: bool


class EmittedEvents(NamedTuple):
    """The stored events of one run, which has this record. They are read page by page, as a log may be long."""

    service: BaseSessionService
    record: RunRecord

    def page(self, seq: int) -> Page:
        """The page behind a sequence number; the user's own event is not in it, as a run does not emit it. Blocks."""
        record = self.record
        start, last = max(seq, record.first_seq - 1), record.last_seq
        config = GetSessionConfig(after_seq=start, limit=_PAGE)
        found: Session | None = settle(self.service.get_session(*record.key, config), CancelScope())
        events = [] if found is None else [one for one in found.events if one.seq is not None and one.seq > start]
        end = max((one.seq or 0 for one in events), default=start)
        is_last = len(events) != _PAGE or (last is not None and end >= last)
        emitted = [
            one
            for one in events
            if one.invocation_id == record.invocation_id
            and one.author != "user"
            and (last is None or (one.seq or 0) <= last)
        ]
        return Page(emitted, end, is_last)

    def behind(self, seq: int = 0) -> Iterator[Event]:
        """All of them behind a sequence number. Blocks."""
        page = Page([], seq, is_last=False)
        while not page.is_last:
            page = self.page(page.end)
            yield from page.events
