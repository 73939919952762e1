"""Opening: what a run does between its turn and its agent: load the session, seal, take in the message."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, final

from rxagent.agents import BaseAgent, find_agent_to_run
from rxagent.artifacts.blobs import without_blobs
from rxagent.errors import AlreadyClaimedError, SessionNotFoundError, UsageError
from rxagent.events import Content, Event, EventActions, Part
from rxagent.events.confirmation import read_decision
from rxagent.flow.last_outcome import LAST_OUTCOME, last_outcome
from rxagent.history.digest import take_digest
from rxagent.history.sealing import seal_events
from rxagent.invocation import Invocation
from rxagent.sessions import Session
from rxagent.streams import settle

from .log import RunLog
from .plan import Plan, plan_of

if TYPE_CHECKING:
    from .run import Run

__all__ = ["Opened", "Opening", "open_session"]

_WHY_SEALED: Final = "an earlier run was left in the middle of it"


@final
class Opening:
    """Whether the user's message is stored. An abort that comes just before waits for it: nothing is lost.

    queues     -in line--------------------      an abort leaves at once
    opens      -load-hook-store|                 an abort is postponed to the end of it
    opened     ----------------|------------     an abort acts
    """

    __slots__ = ("_lock", "_postponed", "_state")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = "opens"
        self._postponed: list[Callable[[], object]] = []

    def queues(self) -> None:
        """The turn has not come, after all."""
        with self._lock:
            self._state = "queues"

    def begins(self) -> None:
        """The turn has come."""
        with self._lock:
            self._state = "opens"

    def opened(self) -> list[Callable[[], object]]:
        """The message is stored; gives the stops that were postponed, the first one first."""
        with self._lock:
            self._state = "opened"
            return self._postponed

    def postpones(self, stop: Callable[[], object]) -> bool:
        """True when this stop waits for the message."""
        with self._lock:
            if self._state != "opens":
                return False
            self._postponed.append(stop)
            return True

    @property
    def is_over(self) -> bool:
        """True when the message is stored: only then is there something to close."""
        return self._state == "opened"


Opened = Literal["agent", "answered", "nothing"]
"""What follows: the agent runs; a before-run hook has answered in its place; it was done before."""


def open_session(run: Run, log: RunLog) -> Opened:
    """Load or create the session, store the seals of open calls and the user's event. On the run's worker.

    Raises SessionNotFoundError, UsageError for a message without parts, what `plan_of` raises, and what hooks and the
    service raise.
    """
    message = run.spec.message
    if run.spec.invocation_id is None and (message is None or not message.parts):
        raise UsageError("No parts in the new_message; give a text, a Content with parts, or a list of Parts")
    invocation, plugins, context = run.invocation, run.invocation.plugins, run.context
    run.scope.check()
    invocation.session_or_none = _load(run)
    events = invocation.session.events
    invocation.digest = take_digest(run.spec.key, events)
    if (before := last_outcome(events, invocation.digest.pauses(events))) is not None:
        invocation.session.state[LAST_OUTCOME] = before
    plan = plan_of(run, invocation.digest, events)
    invocation.id = plan.invocation_id or invocation.id
    if plan.kind == "nothing":
        return "nothing"
    invocation.progress = plan.progress or invocation.progress
    context.agent = plan.agent or _agent_to_run(run)
    run.hooks_are_due = True
    event = _user_event(run, plan)
    try:
        log.append_opening(lambda: _opening_events(run, log, plan, event), claims=lambda: _claims(invocation, event))
    except AlreadyClaimedError:
        return "nothing"
    run.opened()
    context.agent = plan.agent or _agent_to_run(run)
    answer = plugins.first("before_run_callback", run.scope, context)
    if answer is None:
        return "agent"
    run.store(Event(invocation_id=invocation.id, author="model", content=answer))
    return "answered"


def _agent_to_run(run: Run) -> BaseAgent:
    invocation = run.invocation
    older_flow = invocation.resumability.plain_text_continuation_auto_resume
    return find_agent_to_run(run.spec.runner.agent, invocation.session.events, whole_sequences=older_flow)


def _user_event(run: Run, plan: Plan) -> Event | None:
    """What the user says, after the hooks; None when there is nothing to store."""
    invocation, message = run.invocation, plan.message
    invocation.pending_state = dict(run.spec.state_delta) if plan.takes_state else {}  # the hooks see it
    if message is not None:
        replaced = invocation.plugins.first("on_user_message_callback", run.scope, run.context, message)
        if replaced is not None:
            message = Content.of(replaced)
        if run.spec.run_config.save_input_blobs_as_artifacts:
            message = _without_blobs(run, message)
    invocation.user_content = message or plan.original
    state = invocation.take_pending_state()
    if message is None and not state:
        return None
    actions = EventActions(state_delta=state)
    return Event(invocation_id=invocation.id, author="user", branch=plan.branch, content=message, actions=actions)


def _opening_events(run: Run, log: RunLog, plan: Plan, event: Event | None) -> list[Event]:
    """The seals for the log as it is known, then the user's event."""
    invocation, resumed = run.invocation, plan.invocation_id if plan.kind == "resume" else None
    unanswered = invocation.digest.calls_to_seal(invocation.session.events, event or Event(), resumed)
    log.sealed = len(unanswered)
    return [*seal_events(unanswered, _WHY_SEALED), *(() if event is None else (event,))]


def _claims(invocation: Invocation, event: Event | None) -> list[str]:
    """What is decided once: in a resumable app each answered call, elsewhere each question.

    Raises AlreadyClaimedError for what somebody has answered since the session was read.
    """
    if event is None or not event.function_responses:
        return []
    claims: list[str] = []
    answered = invocation.digest.answered_by(invocation.session.events, event)
    for response, call in zip(event.function_responses, answered, strict=True):
        if call is None or not (invocation.resumability.resumable or call.is_question):
            continue
        if call.is_answered:
            raise AlreadyClaimedError(f"the call {call.call_id!r} was answered before; nothing was written")
        if not call.is_question or read_decision(response) is not None:
            claims.append(call.claim)
    return claims


def _load(run: Run) -> Session:
    service, key, runner = run.invocation.session_service, run.spec.key, run.spec.runner
    session: Session | None = settle(service.get_session(*key), run.scope)
    if session is not None:
        return session
    create = run.spec.run_config.auto_create_session
    message = run.spec.message
    if message is None or any(part.function_response is not None for part in message.parts or ()):
        raise SessionNotFoundError(
            f"Session not found: {key.session_id} for user {key.user_id}; there is nothing in it to go on with"
        )
    if not (runner.auto_create_session if create is None else create):
        raise SessionNotFoundError(
            f"Session not found: {key.session_id} for user {key.user_id}; create it, "
            "or use Runner(auto_create_session=True)"
        )
    created: Session = settle(service.create_session(key.app_name, key.user_id, session_id=key.session_id), run.scope)
    return created


def _without_blobs(run: Run, message: Content) -> Content:
    key, service = run.spec.key, run.spec.runner.artifact_service

    def save(name: str, part: Part) -> None:
        settle(service.save_artifact(key.app_name, key.user_id, key.session_id, name, part), run.scope)

    return without_blobs(message, run.invocation.id, save)
