"""EmittedEvents: what a run emitted, read from its session's log."""

from __future__ import annotations

from typing import NamedTuple

from rxagent.events import Event
from rxagent.sessions import BaseSessionService, GetSessionConfig, Session, SessionKey
from rxagent.streams import CancelScope, settle

__all__ = ["EmittedEvents"]


class EmittedEvents(NamedTuple):
    """The stored events of one run."""

    service: BaseSessionService
    key: SessionKey
    run_id: str

    def behind(self, seq: int = 0) -> list[Event]:
        """Those behind a sequence number; the user's own event is not among them, as a run does not emit it. Blocks."""
        config = GetSessionConfig(after_seq=seq)
        found: Session | None = settle(self.service.get_session(*self.key, config), CancelScope())
        return [
            event
            for event in (() if found is None else found.events)
            if event.invocation_id == self.run_id and event.author != "user" and (event.seq or 0) > seq
        ]
