"""One question to an agent, shown as it is answered, and what a stop of it left."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rxagent.events import Event
from rxagent.invocation import Outcome, RunConfig
from rxagent.runner import Runner
from rxagent.sessions import BaseSessionService, GetSessionConfig, Session

from .options import APP_NAME

__all__ = ["Asked", "ask", "load_session"]

_STOP_WAIT = 6.0  # seconds; a little more than the grace of a stopped run


class Asked(NamedTuple):
    """How a question went. saved: the events that it left in the log; read only when it was interrupted."""

    outcome: Outcome | None
    interrupted: bool
    saved: list[Event]


def ask(runner: Runner, user: str, session: str, text: str, show: Callable[[Event], None]) -> Asked:
    """Ask, and show each event. Ctrl-C disposes the run and is reported, not raised.

    Raises what the run ends with.
    """
    before = load_session(runner.session_service, user, session)
    run = runner.start(user, session, text, RunConfig(streaming_mode="sse"))
    try:
        with run:
            for event in run:
                show(event)
    except KeyboardInterrupt:
        outcome = run.wait(timeout=_STOP_WAIT)
        after = load_session(runner.session_service, user, session, after_seq=before.last_seq if before else 0)
        return Asked(outcome, True, after.events if after else [])
    return Asked(run.wait(timeout=_STOP_WAIT), False, [])


def load_session(
    service: BaseSessionService, user: str, session: str, *, after_seq: int | None = None
) -> Session | None:
    """The shell's session of that name, or None. after_seq: only the events behind it."""
    found = service.get_session(APP_NAME, user, session, GetSessionConfig(after_seq=after_seq))
    assert found is None or isinstance(found, Session)  # the shell's services are no coroutines
    return found
