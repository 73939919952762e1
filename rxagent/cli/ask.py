"""One question to an agent, shown as it is answered, and what a stop of it left."""

from __future__ import annotations

from collections.abc import Callable
from signal import SIGINT, SIGTERM
from typing import Final, NamedTuple

from rxagent.events import Event, Message
from rxagent.invocation import Outcome, RunConfig
from rxagent.runner import Runner
from rxagent.sessions import BaseSessionService, GetSessionConfig, Session

from .exits import DONE, FAILED, after_stop
from .in_words import stop_in_words
from .interrupt import REASONS, signals_cancel
from .options import APP_NAME
from .screen import Screen

__all__ = ["Asked", "ask", "exit_of", "load_session"]

_STOP_WAIT: Final = 6.0  # seconds; a little more than the grace of a stopped run


class Asked(NamedTuple):
    """How a question went. saved: the events that it left in the log; read only when it was stopped.

    outcome: None when it was stopped and some of its work still runs.
    """

    outcome: Outcome | None
    is_stopped: bool
    saved: list[Event]

    @property
    def is_shut_down(self) -> bool:
        """True when this process is to end."""
        return self.outcome is not None and self.outcome.reason == REASONS[SIGTERM]


def ask(
    runner: Runner,
    user: str,
    session: str,
    message: Message | None,
    show: Callable[[Event], None],
    *,
    invocation_id: str | None = None,
    timeout: float | None = None,
) -> Asked:
    """Ask, or answer, or go on with an invocation, and show each event.

    Ctrl-C, SIGTERM and the `timeout` (seconds) abort the run: its session is sealed, and its end is shown. That is
    reported and not raised. A second Ctrl-C disposes it, and is raised. Raises what the run ends with.
    """
    with signals_cancel() as scope:
        before = load_session(runner.session_service, user, session)
        config = RunConfig(streaming_mode="sse", timeout=timeout)
        run = runner.start(user, session, message, config, invocation_id=invocation_id)
        scope.on_cancel(lambda: run.abort(scope.reason or REASONS[SIGINT]))
        with run:
            for event in run:
                if not (event.partial and scope.is_cancelled):
                    show(event)
            outcome = run.wait(timeout=_STOP_WAIT)
        if outcome is not None and outcome.kind != "aborted":
            return Asked(outcome, False, [])
        after = load_session(runner.session_service, user, session, after_seq=before.last_seq if before else None)
        return Asked(outcome, True, after.events if after else [])


def exit_of(asked: Asked, unsaved: int, screen: Screen) -> int:
    """The exit code of a command that has asked; what went wrong is told. unsaved: characters that were shown only."""
    if asked.is_stopped:
        screen.note(stop_in_words(asked.saved, unsaved))
        return after_stop(asked.outcome.reason if asked.outcome is not None else None)
    if asked.outcome is not None and asked.outcome.kind not in ("completed", "paused"):
        screen.note(str(asked.outcome))
        return FAILED
    return DONE


def load_session(
    service: BaseSessionService, user: str, session: str, *, after_seq: int | None = None
) -> Session | None:
    """The shell's session of that name, or None. after_seq: only the events behind it."""
    found = service.get_session(APP_NAME, user, session, GetSessionConfig(after_seq=after_seq))
    assert found is None or isinstance(found, Session)  # the shell's services are no coroutines
    return found
