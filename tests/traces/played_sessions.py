"""The in-memory session service under observation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from rxagent.events import Event
from rxagent.sessions import InMemorySessionService

from .recorder import Recorder
from .views import DeclaredError, event_view, what

__all__ = ["LoggingSessions"]


class LoggingSessions(InMemorySessionService):
    """The in-memory service, with a record of appends, and declared delays and failures."""

    def __init__(self, recorder: Recorder, declared: Any) -> None:
        super().__init__()
        self._recorder = recorder
        self._declared = declared
        self.as_appended: dict[str, Any] = {}
        self.recording = False

    def get_session(self, app_name: str, user_id: str, session_id: str, config: Any = None) -> Any:
        if self.recording:
            self._recorder.add("session_read", session=session_id)
        return super().get_session(app_name, user_id, session_id, config)

    def peek(self, app_name: str, user_id: str, session_id: str) -> Any:
        """The session, read for the scenario itself."""
        return super().get_session(app_name, user_id, session_id)

    def append_events(self, session: Any, events: Sequence[Event], **more: Any) -> Any:
        if not self.recording:
            return super().append_events(session, events, **more)
        waits: list[str] = []
        for event in events:
            n = str(self._recorder.count("append"))
            lane = self._recorder.lane_of(event.author)
            fields = {"event": event.id, "what": what(event)}
            if (error := self._declared.get("append_error", {}).get(n)) is not None:
                self._recorder.add("append_failed", lane, **fields)
                raise DeclaredError(error)
            if (gate := self._declared.get("append_wait", {}).get(n)) is not None:
                self._recorder.add("append_begun", lane, **fields)
                self._recorder.add("gate_wait", lane, gate=gate)
                waits.append(gate)
        return self._after(waits, session, events, more) if waits else self._append(session, events, more)

    async def _after(self, gates: list[str], session: Any, events: Sequence[Event], more: Any) -> list[Event]:
        loop = asyncio.get_running_loop()
        for gate in gates:
            opened = asyncio.Event()
            self._recorder.gate(gate).when_open(partial(loop.call_soon_threadsafe, opened.set))
            await opened.wait()
        return self._append(session, events, more)

    def _append(self, session: Any, events: Sequence[Event], more: Any) -> list[Event]:
        for event in events:
            self.as_appended[event.id] = event_view(event)
        stored: list[Event] = super().append_events(session, events, **more)
        for event in events:
            lane = self._recorder.lane_of(event.author)
            self._recorder.add("append", lane, event=event.id, what=what(event))
        return stored
