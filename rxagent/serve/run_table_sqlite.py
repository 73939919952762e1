"""The runs of all servers on one SQLite file, in the file itself."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, final

from rxagent.errors import SessionBusyError
from rxagent.sessions import Owner, SessionKey, current_owner
from rxagent.sessions.sqlite_file import SqliteFile

from .run_record import LOST, RunRecord
from .run_table import KEPT, RunFilter, RunTable, StopNote

__all__ = ["SqliteRunTable"]

_TABLE: Final = (
    """CREATE TABLE IF NOT EXISTS served_runs (
        ticket INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT UNIQUE, invocation TEXT, first INTEGER, last INTEGER,
        app TEXT NOT NULL, user TEXT NOT NULL, session TEXT NOT NULL,
        began REAL NOT NULL, seen REAL NOT NULL, ended REAL, outcome TEXT, stop TEXT, depth TEXT,
        instance TEXT NOT NULL, boot_id TEXT NOT NULL, pid_namespace TEXT NOT NULL, pid INTEGER NOT NULL,
        started INTEGER NOT NULL, name TEXT)""",
    # Few rows live at a time: finding them must not cost what the ended ones are many.
    "CREATE INDEX IF NOT EXISTS living_runs ON served_runs (app, user, session) WHERE ended IS NULL",
    "CREATE INDEX IF NOT EXISTS named_runs ON served_runs (name) WHERE name IS NOT NULL",
)
_COLUMNS: Final = (
    "run_id, app, user, session, instance, boot_id, pid_namespace, pid, started, began, ended, outcome,"
    " invocation, first, last, seen, name"
)
_OWN: Final = "boot_id = ? AND pid_namespace = ? AND pid = ? AND started = ?"


@final
class SqliteRunTable(RunTable):
    """Rows in the table `served_runs` of a session file. They are not synced: a power cut ends the runs, too.

    path: the file of a SqliteSessionService. Raises as that does. A run whose process is gone is ended when a table
    is opened, with the outcome `worker_lost`.
    """

    __slots__ = ("_file", "_owner")

    def __init__(self, path: str) -> None:
        self._owner = current_owner("serve")
        self._file = SqliteFile(path, lambda: None)
        self._file.open()
        self._file.write(_create, synced=False)

    def reserve(self, key: SessionKey, *, only_when_free: bool = False) -> int:
        """A row without an id."""

        def insert(db: sqlite3.Connection) -> int:
            if only_when_free and (holder := _living(db, key)):
                raise SessionBusyError(
                    f"session {key.session_id!r} has the run {holder[0].run_id or '(starting)'}; "
                    "wait for its end, or interrupt it"
                )
            now = time.time()
            cursor = db.execute(
                "INSERT INTO served_runs"
                " (app, user, session, began, seen, instance, boot_id, pid_namespace, pid, started)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*key, now, now, *self._owner),
            )
            assert cursor.lastrowid is not None
            return cursor.lastrowid

        return self._file.write(insert, synced=False)

    def enter(self, ticket: int, run_id: str, name: str = "") -> RunRecord:
        """Write the ids."""

        def write(db: sqlite3.Connection) -> RunRecord:
            values = (run_id, run_id, name or None, ticket)
            db.execute("UPDATE served_runs SET run_id = ?, invocation = ?, name = ? WHERE ticket = ?", values)
            [record] = _records(db, "ticket = ?", (ticket,))
            return record

        return self._file.write(write, synced=False)

    def cancel(self, ticket: int) -> None:
        """Delete the row."""
        self._file.write(lambda db: db.execute("DELETE FROM served_runs WHERE ticket = ?", (ticket,)), synced=False)

    def resume(self, run_id: str, invocation_id: str, first_seq: int) -> RunRecord | None:
        """Write what tells its events from those of the run before."""

        def change(db: sqlite3.Connection) -> RunRecord | None:
            db.execute(
                "UPDATE served_runs SET invocation = ?, first = ? WHERE run_id = ?", (invocation_id, first_seq, run_id)
            )
            return next(iter(_records(db, "run_id = ?", (run_id,))), None)

        return self._file.write(change, synced=False)

    def end(self, run_id: str, outcome: Mapping[str, Any], last_seq: int) -> RunRecord | None:
        """Write the outcome, and forget the oldest of the ended."""

        def end(db: sqlite3.Connection) -> RunRecord | None:
            db.execute(
                "UPDATE served_runs SET ended = ?, outcome = ?, last = ? WHERE run_id = ?",
                (time.time(), json.dumps(outcome), last_seq, run_id),
            )
            db.execute(
                "DELETE FROM served_runs WHERE ended IS NOT NULL"
                " AND ticket <= (SELECT max(ticket) FROM served_runs) - ?",
                (KEPT,),
            )
            return next(iter(_records(db, "run_id = ?", (run_id,))), None)

        return self._file.write(end, synced=False)

    def find(self, run_id: str) -> RunRecord | None:
        """The run with this id."""
        return self._file.read(lambda db: next(iter(_records(db, "run_id = ?", (run_id,))), None))

    def named(self, name: str) -> RunRecord | None:
        """The latest run of this name."""
        where = "name = ? AND run_id IS NOT NULL ORDER BY ticket DESC LIMIT 1"
        return self._file.read(lambda db: next(iter(_records(db, where, (name,))), None))

    def runs(self, wanted: RunFilter, limit: int) -> list[RunRecord]:
        """Runs, the latest first."""
        names = ("app", "user", "session")
        asked = [(name, value) for name, value in zip(names, wanted[:3], strict=True) if value is not None]
        fixed = ["run_id IS NOT NULL", *(["ended IS NULL"] if wanted.unended else [])]
        where = " AND ".join([*fixed, *(f"{name} = ?" for name, _ in asked)])
        values = (*(value for _, value in asked), limit)
        return self._file.read(lambda db: _records(db, f"{where} ORDER BY ticket DESC LIMIT ?", values))

    def living(self, key: SessionKey) -> list[RunRecord]:
        """The runs of a session that have not ended."""
        return [one for one in self._file.read(lambda db: _living(db, key)) if one.run_id]

    def ask_to_stop(self, note: StopNote) -> None:
        """Write the note into the run's row; the first one stands."""

        def ask(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE served_runs SET stop = ?, depth = ? WHERE run_id = ? AND stop IS NULL",
                (note.reason, note.after, note.run_id),
            )

        self._file.write(ask, synced=False)

    def stop_notes(self) -> list[StopNote]:
        """What was left for living runs of this process."""
        owner = self._owner
        return self._file.read(
            lambda db: [
                StopNote(*row)
                for row in db.execute(
                    "SELECT run_id, stop, depth FROM served_runs WHERE ended IS NULL AND stop IS NOT NULL"
                    f" AND run_id IS NOT NULL AND {_OWN}",
                    owner[1:],
                )
            ]
        )

    def touch(self) -> None:
        """Write the time into the rows of this process."""
        values = (time.time(), *self._owner[1:])
        self._file.write(
            lambda db: db.execute(f"UPDATE served_runs SET seen = ? WHERE ended IS NULL AND {_OWN}", values),
            synced=False,
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _create(db: sqlite3.Connection) -> None:
    create, *indexes = _TABLE
    db.execute(create)
    if "name" not in {row[1] for row in db.execute("PRAGMA table_info(served_runs)")}:  # of an earlier version
        db.execute("ALTER TABLE served_runs ADD COLUMN name TEXT")
    for index in indexes:
        db.execute(index)
    lost = [one.run_id for one in _records(db, "ended IS NULL AND run_id IS NOT NULL", ()) if one.state == "lost"]
    db.executemany(
        "UPDATE served_runs SET ended = ?, outcome = ? WHERE run_id = ?",
        [(time.time(), json.dumps(dict(LOST)), run_id) for run_id in lost],
    )


def _living(db: sqlite3.Connection, key: SessionKey) -> list[RunRecord]:
    rows = _records(db, "app = ? AND user = ? AND session = ? AND ended IS NULL ORDER BY ticket", key)
    return [row for row in rows if row.state != "lost"]


def _records(db: sqlite3.Connection, where: str, values: Sequence[object]) -> list[RunRecord]:
    rows = db.execute(f"SELECT {_COLUMNS} FROM served_runs WHERE {where}", tuple(values)).fetchall()
    return [
        RunRecord(
            row[0] or "",
            SessionKey(*row[1:4]),
            Owner(*row[4:9]),
            row[9],
            row[10],
            None if row[11] is None else json.loads(row[11]),
            row[12] or "",
            row[13] or 0,
            row[14],
            row[15],
            row[16] or "",
        )
        for row in rows
    ]
