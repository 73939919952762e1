"""Sessions: logs of events and state, in memory or in a SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import BaseSessionService, GetSessionConfig, MaybeAwaitable
from .keeper import LEASE, Keeper, end_idle_keepers, keeper_of
from .key import SessionKey
from .local_runs import LocalRuns
from .memory import InMemorySessionService
from .owner import current_owner, is_gone
from .question import Question
from .session import Session
from .turn import OpenRun, Owner, RunTicket, StopRequest

if TYPE_CHECKING:
    from .sqlite import SqliteSessionService

__all__ = [
    "LEASE",
    "BaseSessionService",
    "GetSessionConfig",
    "InMemorySessionService",
    "Keeper",
    "LocalRuns",
    "MaybeAwaitable",
    "OpenRun",
    "Owner",
    "Question",
    "RunTicket",
    "Session",
    "SessionKey",
    "SqliteSessionService",
    "StopRequest",
    "current_owner",
    "end_idle_keepers",
    "is_gone",
    "keeper_of",
]


def __getattr__(name: str) -> object:
    if name == "SqliteSessionService":
        from .sqlite import SqliteSessionService  # sqlite3 is loaded when it is asked for

        return SqliteSessionService
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
