"""SqliteSessionService: sessions in one file, shared by all processes of a machine."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, final

from rxagent.errors import UsageError
from rxagent.events import Event, now_ms

from .base import BaseSessionService, GetSessionConfig
from .delta import Scopes, merged_state, stored_form
from .encoding import event_of, event_text
from .event_cache import EventCache
from .faults import not_found, stale
from .key import SessionKey
from .session import Session
from .sqlite_file import SqliteFile
from .sqlite_log import (
    SessionRow,
    add_claims,
    add_events,
    add_session,
    delete_log,
    read_events,
    session_row,
    session_rows,
    wanted_from,
)
from .sqlite_state import change_state, state_changes, state_of, states_of
from .sqlite_turns import ask_to_stop, check_epoch, close_turn, due_runs, forget_turn, open_turn, renew_turns
from .turn import OpenRun, Owner, RunTicket, StopRequest

__all__ = ["SqliteSessionService"]

_CHUNK = 1000  # events that one read transaction fetches; other readers come in between


class _Head(NamedTuple):
    """A session as one read transaction saw it, with the events that were not known, as far as they were fetched.

    end: the number of the last wanted event.
    """

    row: SessionRow
    scopes: Scopes
    known: list[Event]
    start: int
    end: int
    bodies: list[tuple[int, str]]


@final
class SqliteSessionService(BaseSessionService):
    """Sessions in a SQLite file (WAL mode, on a local disk).

    An event is on the disk when its append returns (`synchronous=FULL`). An append costs the same in a log of ten and
    of a million events; reading a session costs what was added since this process read it last.
    path: the file; it is created when it is missing, its folder is not.
    Raises, at construction too: StoreReadOnlyError, StoreFullError, StoreCorruptError, StoreVersionError, StoreError.
    Threads: every method from any thread. Processes: any number on one file, also forked ones.
    """

    shared: ClassVar[bool] = True

    __slots__ = ("_cache", "_file")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = os.fspath(path)
        if name in ("", ":memory:"):
            raise UsageError("a file's path is needed; for sessions in memory use InMemorySessionService()")
        self._cache = EventCache()
        self._file = SqliteFile(os.path.abspath(name), self._cache.clear)
        self._file.open()

    @property
    def path(self) -> str:
        """The file's absolute path."""
        return self._file.path

    def create_session(
        self, app_name: str, user_id: str, state: Mapping[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """A new session; raises UsageError when the id is taken."""
        key = SessionKey(app_name, user_id, session_id or str(uuid.uuid4()))
        changes, now = state_changes(state or {}), now_ms()

        def create(db: sqlite3.Connection) -> Scopes:
            session = add_session(db, key, now)
            change_state(db, key, session, changes)
            return state_of(db, key, session)

        return Session(*key, state=merged_state(self._file.write(create)), last_update_time=now)

    def get_session(
        self, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """The session as stored, or None; the events are shared, since they never change."""
        key = SessionKey(app_name, user_id, session_id)
        since, limit = (None, None) if config is None else (config.after_timestamp, config.limit)
        while True:
            head = self._file.read(lambda db: self._head(db, key, config))
            if head is None:
                return None
            events = (
                self._events_since(head, since, limit)
                if since is not None
                else self._events(head, is_page=limit is not None)
            )
            if events is not None:
                return _session(key, head.row, head.scopes, events)

    def list_sessions(self, app_name: str, user_id: str | None = None) -> list[Session]:
        """The sessions of the user, or of all users of the app, without events, the latest changed first."""

        def read(db: sqlite3.Connection) -> list[Session]:
            rows = session_rows(db, app_name, user_id)
            states = states_of(db, {row.id: key for key, row in rows})
            return [_session(key, row, states[row.id], []) for key, row in rows]

        return self._file.read(read)

    def delete_session(self, app_name: str, user_id: str, session_id: str) -> None:
        """Delete the session, its events, claims and state; a turn that is open stays open, for it is the key's."""
        key = SessionKey(app_name, user_id, session_id)

        def delete(db: sqlite3.Connection) -> SessionRow | None:
            row = session_row(db, key)
            if row is not None:
                delete_log(db, row.id)
            forget_turn(db, key)
            return row

        row = self._file.write(delete)
        if row is not None:
            self._cache.forget(row.id)

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
        """Store several events and claims in one transaction."""
        key, claims = session.key, tuple(claims)
        whole = [stored_form(event) for event in events if not event.partial]
        bodies = [(event.timestamp, event_text(event)) for event in whole]
        changes = [change for event in whole for change in state_changes(event.actions.state_delta)]

        def append(db: sqlite3.Connection) -> int:
            row = session_row(db, key)
            if row is None:
                raise not_found(key)
            check_epoch(db, key, epoch)
            if expected_seq is not None and expected_seq != row.last_seq:
                raise stale(key, expected_seq, row.last_seq)
            add_claims(db, key, row.id, claims)
            if bodies:
                add_events(db, row, bodies)
                change_state(db, key, row.id, changes)
            return row.last_seq + 1

        with self._file.writing:  # threads that share a session see its events in the order of the log
            return session.record_stored(events, whole, self._file.write(append))

    # Turns are not synced: what a power cut takes of them was held by processes that it has ended, too. An event that
    # was stored under an epoch is synced, and with it the epoch, which stands before it in the WAL: epochs never fall
    # back below one that was used.

    def open_run(self, key: SessionKey, run_id: str, *, owner: Owner, lease: float) -> RunTicket:
        """Take the session's turn for `lease` seconds; raises SessionBusyError."""

        def take(db: sqlite3.Connection) -> RunTicket:
            epoch = open_turn(db, key, run_id, owner, lease)
            row = session_row(db, key)
            return RunTicket(epoch, 0 if row is None else row.last_seq)

        return self._file.write(take, synced=False)

    def close_run(self, key: SessionKey, run_id: str, epoch: int) -> None:
        """Give the turn back, unless it was lost."""
        self._file.write(lambda db: close_turn(db, key, run_id, epoch), synced=False)

    def renew(self, runs: Sequence[OpenRun], *, lease: float) -> list[StopRequest]:
        """Prolong the leases; only reads while they are fresh and nobody asks for a stop."""
        due = self._file.read(lambda db: due_runs(db, runs, lease))
        return self._file.write(lambda db: renew_turns(db, due, lease), synced=False) if due else []

    def request_stop(self, key: SessionKey, run_id: str | None, reason: str) -> bool:
        """Leave a request for the run that holds the turn, in whichever process; False when there is none."""
        return self._file.write(lambda db: ask_to_stop(db, key, run_id, reason), synced=False)

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        self._file.close()

    def _head(self, db: sqlite3.Connection, key: SessionKey, config: GetSessionConfig | None) -> _Head | None:
        row = session_row(db, key)
        if row is None:
            return None
        start = wanted_from(row.last_seq, config)
        since = None if config is None else config.after_timestamp
        end = row.last_seq
        if config is not None and config.limit is not None and since is None:
            end = min(end, start + max(config.limit, 0) - 1)
        known = self._cache.since(row.id, start, end) if since is None else []
        start += len(known)
        bodies = read_events(db, row.id, start, min(_CHUNK, end - start + 1), since) if start <= end else []
        return _Head(row, state_of(db, key, row.id), known, start, end, bodies)

    def _events(self, head: _Head, *, is_page: bool) -> list[Event] | None:
        """All wanted events of a head; None when the session was deleted while they were read.

        is_page: they are not learned: who reads a log by pages reads each once, and wants no memory for it.
        """
        events, next_seq, bodies = head.known, head.start, head.bodies
        while next_seq <= head.end:
            if not bodies:
                return None
            fresh = [event_of(text, seq) for seq, text in bodies]
            if not is_page:
                self._cache.add(head.row.id, next_seq, fresh, [len(text) for _, text in bodies])
            events += fresh
            next_seq += len(fresh)
            if next_seq <= head.end:
                bodies = self._more(head, next_seq, None)
        return events

    def _events_since(self, head: _Head, since: int, limit: int | None) -> list[Event]:
        """The wanted events that are no older than `since`; these have gaps, so the cache is left aside."""
        events: list[Event] = []
        bodies = head.bodies
        most = head.end if limit is None else max(limit, 0)
        while bodies and len(events) < most:
            events += [event_of(text, seq) for seq, text in bodies]
            bodies = self._more(head, bodies[-1][0] + 1, since) if len(bodies) == _CHUNK else []
        return events[:most]

    def _more(self, head: _Head, start: int, since: int | None) -> list[tuple[int, str]]:
        limit = min(_CHUNK, head.end - start + 1)
        return self._file.read(lambda db: read_events(db, head.row.id, start, limit, since)) if limit > 0 else []


def _session(key: SessionKey, row: SessionRow, scopes: Scopes, events: list[Event]) -> Session:
    return Session(
        *key,
        state=merged_state(scopes),
        events=events,
        last_seq=row.last_seq,
        last_update_time=row.updated,
    )
