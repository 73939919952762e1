"""The state of apps, users and sessions as rows. Each function runs inside a transaction of its caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from rxagent.events import REMOVED

from .delta import Scopes, by_scope
from .encoding import value_of, value_text
from .key import SessionKey

__all__ = ["StateChange", "change_state", "state_changes", "state_of", "states_of"]


class StateChange(NamedTuple):
    """A key that gets a value, as JSON text; None removes it."""

    scope: str
    key: str
    text: str | None


_WHERE = {
    "app": ("app_state", ("app",)),
    "user": ("user_state", ("app", "user")),
    "session": ("session_state", ("session",)),
}


def state_changes(delta: Mapping[str, Any]) -> list[StateChange]:
    """A delta as changes of rows, in its order; `temp:` keys are left out. Raises AppendError for unsuitable values."""
    if not delta:
        return []
    return [
        StateChange(scope, key, None if isinstance(value, str) and value == REMOVED else value_text(key, value))
        for scope, part in by_scope(delta)._asdict().items()
        for key, value in part.items()
    ]


def change_state(db: sqlite3.Connection, key: SessionKey, session: int, changes: Iterable[StateChange]) -> None:
    """Apply changes; a later one of the same key wins."""
    owners = {"app": key[:1], "user": key[:2], "session": (session,)}
    for scope, name, text in changes:
        table, columns = _WHERE[scope]
        row = (*owners[scope], name)
        if text is None:
            where = " AND ".join(f"{column} = ?" for column in (*columns, "key"))
            db.execute(f"DELETE FROM {table} WHERE {where}", row)
        else:
            places = ", ".join("?" for _ in (*row, text))
            db.execute(
                f"INSERT OR REPLACE INTO {table} ({', '.join(columns)}, key, value) VALUES ({places})", (*row, text)
            )


def state_of(db: sqlite3.Connection, key: SessionKey, session: int) -> Scopes:
    """The state of one session, its user and its app."""
    return states_of(db, {session: key})[session]


def states_of(db: sqlite3.Connection, sessions: Mapping[int, SessionKey]) -> dict[int, Scopes]:
    """The states of sessions, by the ids of their rows."""
    shared: dict[tuple[str, ...], dict[str, Any]] = {}
    for key in sessions.values():
        if key[:1] not in shared:
            shared[key[:1]] = _read(db.execute("SELECT key, value FROM app_state WHERE app = ?", key[:1]))
        if key[:2] not in shared:
            shared[key[:2]] = _read(db.execute("SELECT key, value FROM user_state WHERE app = ? AND user = ?", key[:2]))
    return {
        session: Scopes(
            deepcopy(shared[key[:1]]),
            deepcopy(shared[key[:2]]),
            _read(db.execute("SELECT key, value FROM session_state WHERE session = ?", (session,))),
        )
        for session, key in sessions.items()
    }


def _read(rows: Iterable[tuple[str, str]]) -> dict[str, Any]:
    return {key: value_of(text) for key, text in rows}
