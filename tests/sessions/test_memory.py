"""InMemorySessionService keeps what every session service promises."""

from __future__ import annotations

from pathlib import Path

from rxagent.sessions import InMemorySessionService
from rxagent.testing.session_suite import SessionServiceSuite


class TestMemory(SessionServiceSuite):
    """The conformance suite in memory."""

    def make_service(self, folder: Path) -> InMemorySessionService:
        return InMemorySessionService()
