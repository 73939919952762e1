"""What the cases share: the service under test, and short words for what they do with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest

from rxagent.events import Content, Event, EventActions
from rxagent.sessions import BaseSessionService, GetSessionConfig, Session, SessionKey

__all__ = ["APP", "KEY", "USER", "ServiceCases", "said", "texts"]

APP, USER = "app", "me"
KEY = SessionKey(APP, USER, "s1")


def said(text: str, author: str = "user", **fields: Any) -> Event:
    """An event with a text; `delta`: its state delta."""
    delta = fields.pop("delta", {})
    return Event(author=author, content=Content.user(text), actions=EventActions(state_delta=delta), **fields)


def texts(session: Session) -> list[str]:
    """The texts of a session's events."""
    return [event.text for event in session.events]


class ServiceCases:
    """The base of the cases: `make_service`, and the service as the fixture `service`."""

    _loop: asyncio.AbstractEventLoop | None = None

    def make_service(self, folder: Path) -> BaseSessionService:
        """The service under test. folder: an empty one for this test.

        A shared service is made twice in some tests: the second one for the same folder must use the same store.
        """
        raise NotImplementedError("override make_service")

    @pytest.fixture
    def service(self, tmp_path: Path) -> Iterator[BaseSessionService]:
        """A service with an empty store, closed after the test."""
        service = self.make_service(tmp_path)
        try:
            yield service
        finally:
            self.done(service.close())
            if self._loop is not None:
                self._loop.close()
                self._loop = None

    def done(self, answer: Any) -> Any:
        """The value of what a service method returned."""
        if not isawaitable(answer):
            return answer
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(_value(answer))

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


async def _value(answer: Any) -> Any:
    return await answer
