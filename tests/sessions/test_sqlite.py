"""SqliteSessionService keeps what every session service promises."""

from __future__ import annotations

from pathlib import Path

from rxagent.sessions import SqliteSessionService
from rxagent.testing.session_suite import SessionServiceSuite


class TestSqlite(SessionServiceSuite):
    """The conformance suite on a real file."""

    def make_service(self, folder: Path) -> SqliteSessionService:
        return SqliteSessionService(folder / "sessions.db")
