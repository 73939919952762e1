"""The turns of sessions in a SQLite file. Each function runs inside a transaction of its caller.

A lease ends at a wall-clock time, since that is the one clock that all processes of a machine share, also those in
other containers, and that goes on while the machine sleeps. A clock that is set makes a lease of a dead owner some
seconds longer or shorter; the epoch, which is checked with every append, is what keeps the log right.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

from .faults import busy, fenced
from .key import SessionKey
from .owner import is_gone
from .turn import OpenRun, Owner, StopRequest

__all__ = ["ask_to_stop", "check_epoch", "close_turn", "due_runs", "forget_turn", "open_turn", "renew_turns"]

_KEY = "app = ? AND user = ? AND session = ?"
_FRESH = 2 / 3  # of a lease; with more left it is not renewed, which spares a write


def open_turn(db: sqlite3.Connection, key: SessionKey, run_id: str, owner: Owner, lease: float) -> int:
    """Take the turn; returns its epoch. Raises SessionBusyError while another run's lease is alive."""
    row = db.execute(f"SELECT epoch FROM turns WHERE {_KEY}", key).fetchone()
    holder = _living(db, key)
    if holder is not None and holder != run_id:
        raise busy(key, holder)
    if row is None:
        row = db.execute("SELECT floor FROM epochs").fetchone()
    epoch: int = row[0] + 1
    db.execute(
        "INSERT OR REPLACE INTO turns (app, user, session, epoch, run_id, lease_until, stop,"
        " instance, boot_id, pid_namespace, pid, started) VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?)",
        (*key, epoch, run_id, time.time() + lease, *owner),
    )
    return epoch


def close_turn(db: sqlite3.Connection, key: SessionKey, run_id: str, epoch: int) -> None:
    """Give the turn back, unless it was lost. The row stays: it holds the epoch."""
    db.execute(
        f"UPDATE turns SET run_id = NULL, stop = NULL WHERE {_KEY} AND run_id = ? AND epoch = ?", (*key, run_id, epoch)
    )


def check_epoch(db: sqlite3.Connection, key: SessionKey, epoch: int | None) -> None:
    """Raise FencedError unless the turn of this epoch is open; None is no turn and passes."""
    if epoch is None:
        return
    row = db.execute(f"SELECT epoch FROM turns WHERE {_KEY} AND run_id IS NOT NULL", key).fetchone()
    if row is None or row[0] != epoch:
        raise fenced(key, epoch)


def due_runs(db: sqlite3.Connection, runs: Sequence[OpenRun], lease: float) -> list[OpenRun]:
    """Those of the runs for which `renew_turns` has something to write or to say; only reads."""
    fresh = time.time() + lease * _FRESH
    rows = ((run, _row(db, run)) for run in runs)
    return [run for run, row in rows if row is None or row[0] < fresh or row[1] is not None]


def renew_turns(db: sqlite3.Connection, runs: Sequence[OpenRun], lease: float) -> list[StopRequest]:
    """Prolong the leases, also run-out ones that nobody took over; returns and clears the stop requests."""
    found, until = [], time.time() + lease
    for run in runs:
        row = _row(db, run)
        if row is None:
            found.append(StopRequest(run.key, run.run_id, "superseded", lost=True))
            continue
        if row[1] is not None:
            found.append(StopRequest(run.key, run.run_id, row[1]))
        db.execute(f"UPDATE turns SET lease_until = ?, stop = NULL WHERE {_KEY}", (until, *run.key))
    return found


def ask_to_stop(db: sqlite3.Connection, key: SessionKey, run_id: str | None, reason: str) -> bool:
    """Leave a request for the run that holds the turn; the first reason stands. False when there is no such run."""
    holder = _living(db, key)
    if holder is None or run_id not in (None, holder):
        return False
    db.execute(f"UPDATE turns SET stop = coalesce(stop, ?) WHERE {_KEY}", (reason, *key))
    return True


def forget_turn(db: sqlite3.Connection, key: SessionKey) -> None:
    """Delete the row of a turn that nobody holds; its epoch goes into the floor of later ones."""
    if _living(db, key) is None:
        db.execute(f"UPDATE epochs SET floor = max(floor, coalesce((SELECT epoch FROM turns WHERE {_KEY}), 0))", key)
        db.execute(f"DELETE FROM turns WHERE {_KEY}", key)


def _row(db: sqlite3.Connection, run: OpenRun) -> tuple[float, str | None] | None:
    row: tuple[float, str | None] | None = db.execute(
        f"SELECT lease_until, stop FROM turns WHERE {_KEY} AND run_id = ? AND epoch = ?",
        (*run.key, run.run_id, run.epoch),
    ).fetchone()
    return row


def _living(db: sqlite3.Connection, key: SessionKey) -> str | None:
    """The run that holds the turn: its lease has time left, and its process is not known to be gone."""
    row = db.execute(
        "SELECT run_id, lease_until, instance, boot_id, pid_namespace, pid, started"
        f" FROM turns WHERE {_KEY} AND run_id IS NOT NULL",
        key,
    ).fetchone()
    if row is None or row[1] <= time.time() or is_gone(Owner(*row[2:])):
        return None
    return str(row[0])
