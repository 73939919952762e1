"""InMemorySessionService: sessions that live as long as the process."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from rxagent.events import Event, now_ms

from .base import BaseSessionService, GetSessionConfig
from .delta import Scopes, apply_delta, by_scope, detached, kept, merged_state, stored_form
from .encoding import event_of, event_text, value_of, value_text
from .faults import already_claimed, exists, not_found, stale
from .key import SessionKey
from .session import Session
from .turn import Owner, RunTicket

__all__ = ["InMemorySessionService"]


class _Record:
    """A stored session. The seq of an event is its place in the log, from 1.

    What was appended stays JSON until somebody reads the session: a run never reads its own events again, and reading
    them cost 15 % of its steps.
    """

    __slots__ = ("_events", "_unread", "claims", "state", "updated")

    def __init__(self, state: dict[str, Any]) -> None:
        self._events: list[Event] = []
        self._unread: list[str] = []
        self.state = state
        self.claims: set[str] = set()
        self.updated = now_ms()

    @property
    def last_seq(self) -> int:
        """The seq of the last event."""
        return len(self._events) + len(self._unread)

    def append(self, text: str, timestamp: int) -> None:
        """Store an event's JSON."""
        self._unread.append(text)
        self.updated = timestamp

    def events(self) -> list[Event]:
        """The whole log."""
        self._events += list(map(event_of, self._unread, count(len(self._events) + 1)))
        self._unread.clear()
        return self._events

    def page(self, start: int, end: int) -> list[Event]:
        """The events from one place to another. What is JSON stays JSON: a page must not cost the memory of the log."""
        read = len(self._events)
        unread = self._unread[max(start - read, 0) : max(end - read, 0)]
        return self._events[start:end] + list(map(event_of, unread, count(max(start, read) + 1)))


class InMemorySessionService(BaseSessionService):
    """Sessions in the memory of this process; for tests, and for what may be forgotten.

    What is stored goes through JSON once, as in a file: it is a copy of its own, and what would not survive a file
    does not seem to work here.

    Threads: every method from any thread. A turn has no lease here: it is held until it is given back.
    """

    __slots__ = ("_app", "_lock", "_records", "_user")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[SessionKey, _Record] = {}
        self._app: dict[str, dict[str, Any]] = {}
        self._user: dict[tuple[str, str], dict[str, Any]] = {}

    def create_session(
        self, app_name: str, user_id: str, state: Mapping[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """A new session; raises UsageError when the id is taken."""
        key = SessionKey(app_name, user_id, session_id or str(uuid.uuid4()))
        initial = _plain(dict(kept(state or {})))
        with self._lock:
            if key in self._records:
                raise exists(key)
            self._records[key] = _Record({})
            self._change(key, initial)
            return self._copy(key, [])

    def get_session(
        self, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """The session as stored, or None; the events are shared, since they never change."""
        key = SessionKey(app_name, user_id, session_id)
        with self._lock:
            record = self._records.get(key)
            return None if record is None else self._copy(key, _selected(record, config))

    def list_sessions(self, app_name: str, user_id: str | None = None) -> list[Session]:
        """The sessions of the user, or of all users of the app, without events, the latest changed first."""
        with self._lock:
            keys = [key for key in self._records if key.app_name == app_name and user_id in (None, key.user_id)]
            keys.reverse()  # of two that changed at the same time the later made comes first
            keys.sort(key=lambda key: self._records[key].updated, reverse=True)
            return [self._copy(key, []) for key in keys]

    def delete_session(self, app_name: str, user_id: str, session_id: str) -> None:
        """Forget the session; a turn that is open stays open, for it is the key's."""
        with self._lock:
            self._records.pop(SessionKey(app_name, user_id, session_id), None)

    def append_event(
        self, session: Session, event: Event, *, expected_seq: int | None = None, epoch: int | None = None
    ) -> Event:
        """Store the event at the end; a partial one is returned untouched."""
        if event.partial:
            return event
        return self.append_events(session, (event,), epoch=epoch, expected_seq=expected_seq)[0]

    def append_events(
        self,
        session: Session,
        events: Sequence[Event],
        *,
        epoch: int | None = None,
        expected_seq: int | None = None,
        claims: Iterable[str] = (),
    ) -> list[Event]:
        """Store several events and claims in one act."""
        key, claims = session.key, tuple(claims)
        whole = [stored_form(event) for event in events if not event.partial]
        texts = [event_text(event) for event in whole]
        deltas = [_plain(event.actions.state_delta) for event in whole]
        with self._lock:
            record = self._records.get(key)
            if record is None:
                raise not_found(key)
            self.local_runs.check(key, epoch)
            last = record.last_seq
            if expected_seq is not None and expected_seq != last:
                raise stale(key, expected_seq, last)
            _claim(key, record.claims, claims)
            for event, text, delta in zip(whole, texts, deltas, strict=True):
                record.append(text, event.timestamp)
                self._change(key, delta)
            return session.record_stored(events, whole, last + 1)  # in the lock: for threads that share it

    def open_run(self, key: SessionKey, run_id: str, *, owner: Owner, lease: float) -> RunTicket:
        """Take the session's turn until it is given back; `lease` is not needed here."""
        with self._lock:
            epoch = self.local_runs.open(key, run_id, owner)
            record = self._records.get(key)
            return RunTicket(epoch, 0 if record is None else record.last_seq)

    def _change(self, key: SessionKey, delta: Mapping[str, Any]) -> None:
        if not delta:
            return
        scopes = by_scope(delta)
        apply_delta(self._app.setdefault(key.app_name, {}), scopes.app.items())
        apply_delta(self._user.setdefault(key[:2], {}), scopes.user.items())
        apply_delta(self._records[key].state, scopes.session.items())

    def _copy(self, key: SessionKey, events: list[Event]) -> Session:
        record = self._records[key]
        state = merged_state(Scopes(self._app.get(key.app_name, {}), self._user.get(key[:2], {}), record.state))
        return Session(
            *key,
            state={name: detached(value) for name, value in state.items()},
            events=events,
            last_seq=record.last_seq,
            last_update_time=record.updated,
        )


def _plain(state: Mapping[str, Any]) -> dict[str, Any]:
    """A state or a delta as it comes back from JSON."""
    return {name: value_of(value_text(name, value)) for name, value in state.items()}


def _claim(key: SessionKey, taken: set[str], claims: Sequence[str]) -> None:
    for claim in claims:
        if claim in taken:
            raise already_claimed(key, claim)
    taken.update(claims)


def _selected(record: _Record, config: GetSessionConfig | None) -> list[Event]:
    if config is None:
        return record.events()
    start, limit = max(config.after_seq or 0, 0), config.limit
    if config.num_recent_events is not None:
        start = max(start, record.last_seq - max(config.num_recent_events, 0))
    if limit is not None and config.after_timestamp is None:
        return record.page(start, start + max(limit, 0))
    found = record.events()[start:]
    if config.after_timestamp is not None:
        found = [event for event in found if event.timestamp >= config.after_timestamp]
    return found if limit is None else found[: max(limit, 0)]
