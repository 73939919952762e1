"""Append several events one after the other, through a service that stores one at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from inspect import isawaitable
from typing import Protocol

from rxagent.events import Event

from .session import Session

__all__ = ["append_each", "followed"]


class Storing(Protocol):
    """The side of a service that this sees."""

    def append_event(self, session: Session, event: Event) -> Event | Awaitable[Event]: ...


def append_each(
    service: Storing, session: Session, events: Sequence[Event], *, undo: Callable[[], None]
) -> list[Event] | Awaitable[list[Event]]:
    """The events as stored by `service.append_event(session, event)`; awaitable when the service's answers are.

    undo: called when the first one fails, since nothing was written then.
    """
    waiting, stored = iter(events), list[Event]()
    for event in waiting:
        try:
            answer = service.append_event(session, event)
        except Exception:
            _first_failed(stored, undo)
            raise
        if isawaitable(answer):
            return _awaited(service, session, (event, answer), waiting, stored, undo)
        stored.append(followed(session, answer))
    return stored


def followed(session: Session, event: Event) -> Event:
    """The event with a `seq`; the session has recorded it, and does so now when the service did not."""
    if event.partial:
        return event
    if event.seq is None:
        known = any(one.id == event.id for one in session.events[-1:])
        event = event.model_copy(update={"seq": session.last_seq + 1})
        if known:
            session.events.pop()
    if not session.events or session.events[-1].seq != event.seq:
        session.record(event)
    return event


async def _awaited(
    service: Storing,
    session: Session,
    first: tuple[Event, Awaitable[Event]],
    rest: Iterable[Event],
    stored: list[Event],
    undo: Callable[[], None],
) -> list[Event]:
    answer = first[1]
    try:
        stored.append(followed(session, await answer))
        for event in rest:
            found = service.append_event(session, event)
            stored.append(followed(session, await found if isawaitable(found) else found))
    except BaseException:
        _first_failed(stored, undo)
        raise
    return stored


def _first_failed(stored: Sequence[Event], undo: Callable[[], None]) -> None:
    if not stored:
        undo()
