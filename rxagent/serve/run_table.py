"""RunTable: the runs of all servers on one store, living and ended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from rxagent.invocation import StopDepth
from rxagent.sessions import SessionKey

from .run_record import RunRecord

__all__ = ["KEPT", "RunFilter", "RunTable", "StopNote"]

KEPT: Final = 10_000
"""Ended runs that a table remembers."""


class RunFilter(NamedTuple):
    """Which runs are wanted; None: whatever it is. unended: only those of which no end was written."""

    app_name: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    unended: bool = False


class StopNote(NamedTuple):
    """Somebody asks a run to stop."""

    run_id: str
    reason: str
    after: StopDepth


class RunTable(ABC):
    """Where runs are found by their id, also those of another process.

    A run gets its row before it is started, so that `reserve` decides who comes first, and its id after that.
    Threads: every method from any thread; they block on the store, so not on an event loop's.
    """

    @abstractmethod
    def reserve(self, key: SessionKey, *, only_when_free: bool = False) -> int:
        """A row for a run that is about to start; its ticket. Raises SessionBusyError when another run lives there
        and it is wanted only when there is none."""

    @abstractmethod
    def enter(self, ticket: int, run_id: str, name: str = "") -> RunRecord:
        """The run of the ticket has started and has this id, and this one from its client."""

    @abstractmethod
    def cancel(self, ticket: int) -> None:
        """The run of the ticket could not be started."""

    @abstractmethod
    def resume(self, run_id: str, invocation_id: str, first_seq: int) -> RunRecord | None:
        """The run goes on with an earlier invocation, from this event on. None when the table no longer knows it."""

    @abstractmethod
    def end(self, run_id: str, outcome: Mapping[str, Any], last_seq: int) -> RunRecord | None:
        """The run has ended, with this as its last stored event. None when the table no longer knows it."""

    @abstractmethod
    def find(self, run_id: str) -> RunRecord | None:
        """The run with this id."""

    @abstractmethod
    def named(self, name: str) -> RunRecord | None:
        """The latest run to which its client has given this id."""

    @abstractmethod
    def runs(self, wanted: RunFilter, limit: int) -> list[RunRecord]:
        """Runs, the latest first."""

    @abstractmethod
    def living(self, key: SessionKey) -> list[RunRecord]:
        """The runs of a session that have not ended, in order of their start."""

    @abstractmethod
    def ask_to_stop(self, note: StopNote) -> None:
        """Leave a note for the process that has the run."""

    @abstractmethod
    def stop_notes(self) -> list[StopNote]:
        """What was left for living runs of this process; again and again until they have ended."""

    @abstractmethod
    def touch(self) -> None:
        """A sign of life for the runs of this process; due every few seconds."""

    def close(self) -> None:
        """Free what the table holds. The default holds nothing."""
        return
