"""A service with ADK's five methods, plain or asynchronous, works by the defaults of the base class."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from rxagent.errors import AlreadyClaimedError, FencedError, SessionBusyError, StaleSessionError
from rxagent.events import Event, EventActions
from rxagent.sessions import (
    BaseSessionService,
    GetSessionConfig,
    OpenRun,
    RunTicket,
    Session,
    SessionKey,
    StopRequest,
    current_owner,
)

KEY = SessionKey("app", "me", "s1")
OWNER = current_owner("test")


class Plain(BaseSessionService):
    """As a user of ADK writes one: no sequence numbers, no turns, no base constructor. full: what fails."""

    def __init__(self) -> None:
        self.stored: list[Event] = []
        self.full = False

    def create_session(
        self, app_name: str, user_id: str, state: Mapping[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        return Session(app_name, user_id, session_id or "new", state=state)

    def get_session(
        self, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        return Session(app_name, user_id, session_id, events=self.stored, last_seq=len(self.stored))

    def list_sessions(self, app_name: str, user_id: str | None = None) -> list[Session]:
        return []

    def delete_session(self, app_name: str, user_id: str, session_id: str) -> None:
        self.stored.clear()

    def append_event(self, session: Session, event: Event) -> Any:  # type: ignore[override]
        if self.full:
            raise OSError("full")
        if not event.partial:
            self.stored.append(event)
        return event


class ByItself(Plain):
    """One that appends to the session's events as ADK's own services do."""

    def append_event(self, session: Session, event: Event) -> Any:  # type: ignore[override]
        session.events.append(super().append_event(session, event))
        return event


class BySuper(Plain):
    """One that leaves the session to the base class."""

    def append_event(self, session: Session, event: Event) -> Any:  # type: ignore[override]
        Plain.append_event(self, session, event)
        return BaseSessionService.append_event(self, session, event)


class Async(Plain):
    """One whose append gives an awaitable."""

    def append_event(self, session: Session, event: Event) -> Any:  # type: ignore[override]
        async def append() -> Any:
            await asyncio.sleep(0)
            return Plain.append_event(self, session, event)

        return append()


def appended(service: Plain, session: Session, *events: Event, **options: Any) -> list[Event]:
    """The events as stored, awaited when need be."""
    answer: Any = service.append_events(session, events, **options)
    return answer if isinstance(answer, list) else asyncio.run(_value(answer))


async def _value(answer: Any) -> list[Event]:
    return await answer  # type: ignore[no-any-return]


SERVICES = pytest.mark.parametrize("kind", [Plain, ByItself, BySuper, Async])


@SERVICES
def test_appending(kind: type[Plain]) -> None:
    """Events get numbers, the session follows exactly once, temp: keys and partial events do not reach it."""
    service = kind()
    session = service.create_session(*KEY[:2], session_id=KEY.session_id)
    stored = appended(
        service,
        session,
        Event(author="a", actions=EventActions(state_delta={"k": 1, "temp:t": 2})),
        Event(author="b"),
        expected_seq=0,
    )
    assert [event.seq for event in stored] == [1, 2]
    assert [(event.author, event.seq) for event in session.events] == [("a", 1), ("b", 2)]
    assert (session.last_seq, session.state) == (2, {"k": 1})
    assert [event.author for event in service.stored] == ["a", "b"]
    with pytest.raises(StaleSessionError):
        appended(service, session, Event(author="c"), expected_seq=0)


@SERVICES
def test_claims(kind: type[Plain]) -> None:
    """A claim is given once in this process; one whose first event could not be stored is free again."""
    service = kind()
    session = service.create_session(*KEY[:2], session_id=KEY.session_id)
    service.full = True
    with pytest.raises(OSError, match="full"):
        appended(service, session, Event(author="a"), claims=["c"])
    service.full = False
    appended(service, session, Event(author="a"), claims=["c"])
    with pytest.raises(AlreadyClaimedError):
        appended(service, session, Event(author="a"), claims=["c"])
    assert len(service.stored) == 1


def test_turns() -> None:
    """Turns, fences and stop requests work within the process."""
    service = Plain()
    session = service.create_session(*KEY[:2], session_id=KEY.session_id)
    ticket = service.open_run(KEY, "r1", owner=OWNER, lease=1.0)
    assert isinstance(ticket, RunTicket)
    with pytest.raises(SessionBusyError):
        service.open_run(KEY, "r2", owner=OWNER, lease=1.0)
    appended(service, session, Event(author="a"), epoch=ticket.epoch)
    assert service.request_stop(KEY, None, "stop") is True
    assert service.renew([OpenRun(KEY, "r1", ticket.epoch)], lease=1.0) == [StopRequest(KEY, "r1", "stop")]
    service.close_run(KEY, "r1", ticket.epoch)
    with pytest.raises(FencedError):
        appended(service, session, Event(author="b"), epoch=ticket.epoch)
    assert len(service.stored) == 1
