"""What the cases share: the service under test, and short words for what they do with it."""

from __future__ import annotations

from typing import Any

from rxagent.events import Content, Event, EventActions
from rxagent.sessions import BaseSessionService, GetSessionConfig, Session, SessionKey
from rxagent.testing.service_cases import ServiceCases

__all__ = ["APP", "KEY", "USER", "SessionCases", "said", "texts"]

APP, USER = "app", "me"
KEY = SessionKey(APP, USER, "s1")


def said(text: str, author: str = "user", **fields: Any) -> Event:
    """An event with a text; `delta`: its state delta."""
    delta = fields.pop("delta", {})
    return Event(author=author, content=Content.user(text), actions=EventActions(state_delta=delta), **fields)


def texts(session: Session) -> list[str]:
    """The texts of a session's events."""
    return [event.text for event in session.events]


class SessionCases(ServiceCases[BaseSessionService]):
    """The base of the cases."""

    def create(self, service: BaseSessionService, session_id: str | None = "s1", **options: Any) -> Session:
        """A new session of the user `me`."""
        return self.done(service.create_session(APP, USER, session_id=session_id, **options))  # type: ignore[no-any-return]

    def get(self, service: BaseSessionService, session_id: str = "s1", **config: Any) -> Session:
        """The session as stored; it must exist."""
        found = self.find(service, session_id, GetSessionConfig(**config) if config else None)
        assert found is not None
        return found

    def find(
        self, service: BaseSessionService, session_id: str = "s1", config: GetSessionConfig | None = None
    ) -> Session | None:
        """The session as stored, or None."""
        return self.done(service.get_session(APP, USER, session_id, config))  # type: ignore[no-any-return]

    def append(self, service: BaseSessionService, session: Session, *events: Event, **options: Any) -> list[Event]:
        """The events as stored in one act."""
        return self.done(service.append_events(session, events, **options))  # type: ignore[no-any-return]
