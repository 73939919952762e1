"""The runs of one process, for stores that no other process uses."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, final

from rxagent.errors import SessionBusyError
from rxagent.sessions import SessionKey, current_owner

from .run_record import RunRecord
from .run_table import KEPT, RunFilter, RunTable, StopNote

__all__ = ["MemoryRunTable"]


@final
class MemoryRunTable(RunTable):
    """Runs in a dict. A stop never needs a note: who asks has the run."""

    __slots__ = ("_lock", "_names", "_reserved", "_rows", "_tickets")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tickets = 0
        self._reserved: dict[int, tuple[SessionKey, float]] = {}
        self._rows: dict[str, RunRecord] = {}
        self._names: dict[str, str] = {}  # the clients' ids of runs -> ours

    def reserve(self, key: SessionKey, *, only_when_free: bool = False) -> int:
        """A ticket."""
        with self._lock:
            if only_when_free and (self._living(key) or any(held == key for held, _ in self._reserved.values())):
                raise SessionBusyError(f"session {key.session_id!r} has a run; wait for its end, or interrupt it")
            self._tickets += 1
            self._reserved[self._tickets] = key, time.time()
            return self._tickets

    def enter(self, ticket: int, run_id: str, name: str = "") -> RunRecord:
        """The run of the ticket has started."""
        with self._lock:
            key, began = self._reserved.pop(ticket)
            owner = current_owner("serve")
            record = self._rows[run_id] = RunRecord(run_id, key, owner, began, invocation_id=run_id, name=name)
            if name:
                self._names[name] = run_id
            return record

    def cancel(self, ticket: int) -> None:
        """The run of the ticket could not be started."""
        with self._lock:
            self._reserved.pop(ticket, None)

    def resume(self, run_id: str, invocation_id: str, first_seq: int) -> RunRecord | None:
        """The run goes on with an earlier invocation."""
        with self._lock:
            record = self._rows.get(run_id)
            if record is not None:
                record = record._replace(invocation_id=invocation_id, first_seq=first_seq)
                self._rows[run_id] = record
            return record

    def end(self, run_id: str, outcome: Mapping[str, Any], last_seq: int) -> RunRecord | None:
        """The run has ended."""
        with self._lock:
            record = self._rows.pop(run_id, None)
            if record is None:
                return None
            self._rows[run_id] = record = record._replace(ended_at=time.time(), outcome=outcome, last_seq=last_seq)
            if len(self._rows) > KEPT:
                oldest = next((one.run_id for one in self._rows.values() if one.ended_at is not None), run_id)
                gone = self._rows.pop(oldest)
                if self._names.get(gone.name) == oldest:
                    del self._names[gone.name]
            return record

    def find(self, run_id: str) -> RunRecord | None:
        """The run with this id."""
        return self._rows.get(run_id)

    def named(self, name: str) -> RunRecord | None:
        """The latest run of this name."""
        return self._rows.get(self._names.get(name, ""))

    def runs(self, wanted: RunFilter, limit: int) -> list[RunRecord]:
        """Runs, the latest first."""
        with self._lock:
            rows = [
                row
                for row in self._rows.values()
                if all(want in (None, has) for want, has in zip(wanted[:3], row.key, strict=True))
                and not (wanted.unended and row.ended_at is not None)
            ]
        return sorted(rows, key=lambda row: row.started_at, reverse=True)[:limit]

    def living(self, key: SessionKey) -> list[RunRecord]:
        """The runs of a session that have not ended."""
        with self._lock:
            return self._living(key)

    def _living(self, key: SessionKey) -> list[RunRecord]:
        return [row for row in self._rows.values() if row.key == key and row.ended_at is None]

    def ask_to_stop(self, note: StopNote) -> None:
        """Nobody else could have the run."""

    def touch(self) -> None:
        """Nobody else could ask."""

    def stop_notes(self) -> list[StopNote]:
        """None, ever."""
        return []
