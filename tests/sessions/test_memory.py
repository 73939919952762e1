"""InMemorySessionService keeps what every session service promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from rxagent.events import Event
from rxagent.sessions import GetSessionConfig, InMemorySessionService
from rxagent.sessions.encoding import event_of
from rxagent.testing.session_suite import SessionServiceSuite


class TestMemory(SessionServiceSuite):
    """The conformance suite in memory."""

    def make_service(self, folder: Path) -> InMemorySessionService:
        return InMemorySessionService()


def test_pages_are_read_from_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a page's own events are parsed, and are not kept; a reader of the whole log leaves them read."""
    parsed: list[int] = []

    def parse(text: str, seq: int) -> Event:
        parsed.append(seq)
        return event_of(text, seq)

    monkeypatch.setattr("rxagent.sessions.memory.event_of", parse)
    service = InMemorySessionService()
    session = service.create_session("app", "me", session_id="s1")
    service.append_events(session, [Event(author=name) for name in "abcde"])

    def page(start: int) -> list[str | None]:
        found = service.get_session("app", "me", "s1", GetSessionConfig(after_seq=start, limit=2))
        assert found is not None
        return [event.author for event in found.events]

    assert (page(1), page(1), parsed) == (["b", "c"], ["b", "c"], [2, 3, 2, 3])
    service.get_session("app", "me", "s1")
    service.append_event(session, Event(author="f"))
    parsed.clear()
    assert (page(4), parsed) == (["e", "f"], [6])
