"""SessionServiceSuite: what every session service must do, as tests to run on one's own.

::

    class TestMyService(SessionServiceSuite):
        def make_service(self, folder):
            return MyService(folder / "sessions.db")

pytest collects the subclass. A service whose methods return awaitables is run on an event loop of the test's own.
"""

from __future__ import annotations

from .session_cases import LogCases, StateCases, TurnCases

__all__ = ["SessionServiceSuite"]


class SessionServiceSuite(LogCases, StateCases, TurnCases):
    """The conformance tests. Override `make_service`; see `rxagent.sessions.BaseSessionService` for the promises."""
