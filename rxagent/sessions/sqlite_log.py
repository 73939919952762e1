"""The rows of sessions and their events. Each function runs inside a transaction of its caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from .base import GetSessionConfig
from .faults import already_claimed, exists
from .key import SessionKey

__all__ = [
    "SessionRow",
    "add_claims",
    "add_events",
    "add_session",
    "delete_log",
    "read_events",
    "session_row",
    "session_rows",
    "wanted_from",
]

_KEY = "app = ? AND user = ? AND session = ?"


class SessionRow(NamedTuple):
    """A session as stored. id: of this life of the session. updated: ms."""

    id: int
    last_seq: int
    updated: int


def session_row(db: sqlite3.Connection, key: SessionKey) -> SessionRow | None:
    """The session's row, or None."""
    row = db.execute(f"SELECT id, last_seq, updated FROM sessions WHERE {_KEY}", key).fetchone()
    return None if row is None else SessionRow(*row)


def session_rows(db: sqlite3.Connection, app_name: str, user_id: str | None) -> list[tuple[SessionKey, SessionRow]]:
    """The sessions of the user, or of all users of the app, the latest changed first."""
    where, values = ("app = ?", [app_name]) if user_id is None else ("app = ? AND user = ?", [app_name, user_id])
    rows = db.execute(
        f"SELECT app, user, session, id, last_seq, updated FROM sessions WHERE {where} ORDER BY updated DESC, id DESC",
        values,
    )
    return [(SessionKey(*row[:3]), SessionRow(*row[3:])) for row in rows]


def add_session(db: sqlite3.Connection, key: SessionKey, updated: int) -> int:
    """A new row; returns its id. Raises UsageError when the session exists."""
    try:
        cursor = db.execute("INSERT INTO sessions (app, user, session, updated) VALUES (?, ?, ?, ?)", (*key, updated))
    except sqlite3.IntegrityError:
        raise exists(key) from None
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def add_events(db: sqlite3.Connection, row: SessionRow, events: Sequence[tuple[int, str]]) -> None:
    """Put events, each a timestamp and a body, behind the last one."""
    db.executemany(
        "INSERT INTO events (session, seq, timestamp, body) VALUES (?, ?, ?, ?)",
        [(row.id, seq, *event) for seq, event in enumerate(events, row.last_seq + 1)],
    )
    db.execute(
        "UPDATE sessions SET last_seq = ?, updated = ? WHERE id = ?",
        (row.last_seq + len(events), events[-1][0], row.id),
    )


def add_claims(db: sqlite3.Connection, key: SessionKey, session: int, claims: Sequence[str]) -> None:
    """Claim all of these. Raises AlreadyClaimedError when one was claimed before."""
    for claim in claims:
        try:
            db.execute("INSERT INTO claims (session, claim) VALUES (?, ?)", (session, claim))
        except sqlite3.IntegrityError:
            raise already_claimed(key, claim) from None


def delete_log(db: sqlite3.Connection, session: int) -> None:
    """Delete the session's row and all that hangs on it."""
    for table in ("events", "claims", "session_state"):
        db.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
    db.execute("DELETE FROM sessions WHERE id = ?", (session,))


def wanted_from(last_seq: int, config: GetSessionConfig | None) -> int:
    """The number of the first event that is to be loaded, its time left aside."""
    if config is None:
        return 1
    start = max(config.after_seq or 0, 0)
    if config.num_recent_events is not None:
        start = max(start, last_seq - max(config.num_recent_events, 0))
    return start + 1


def read_events(
    db: sqlite3.Connection, session: int, start: int, limit: int, after_timestamp: int | None = None
) -> list[tuple[int, str]]:
    """Numbers and bodies of at most `limit` events from number `start` on."""
    since = "" if after_timestamp is None else " AND timestamp >= ?"
    values = (session, start, *(() if after_timestamp is None else (after_timestamp,)), limit)
    return db.execute(
        f"SELECT seq, body FROM events WHERE session = ? AND seq >= ?{since} ORDER BY seq LIMIT ?", values
    ).fetchall()
