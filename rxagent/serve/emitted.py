"""EmittedEvents: what a run emitted, read from its session's log."""

from __future__ import annotations

from typing import NamedTuple

from rxagent.events import Event
from rxagent.sessions import BaseSessionService, GetSessionConfig, Session
from rxagent.streams import CancelScope, settle

from .run_record import RunRecord

__all__ = ["EmittedEvents"]


class EmittedEvents(NamedTuple):
    """The stored events of one run, which has this record."""

    service: BaseSessionService
    record: RunRecord

    def behind(self, seq: int = 0) -> list[Event]:
        """Those behind a sequence number; the user's own event is not among them, as a run does not emit it. Blocks."""
        record = self.record
        start, end = max(seq, record.first_seq - 1), record.last_seq
        found: Session | None = settle(
            self.service.get_session(*record.key, GetSessionConfig(after_seq=start)), CancelScope()
        )
        return [
            event
            for event in (() if found is None else found.events)
            if event.invocation_id == record.invocation_id
            and event.author != "user"
            and event.seq is not None
            and start < event.seq
            and (end is None or event.seq <= end)
        ]
