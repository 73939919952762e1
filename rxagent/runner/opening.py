"""Opening: what a run does between its turn and its agent: load the session, seal, take in the message."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, final

from rxagent.agents import find_agent_to_run
from rxagent.artifacts.blobs import without_blobs
from rxagent.errors import SessionNotFoundError, UnknownCallError, UsageError
from rxagent.events import Content, Event, EventActions, Part
from rxagent.flow.digest import take_digest
from rxagent.flow.sealing import seal_events
from rxagent.invocation import Invocation, StopDepth
from rxagent.sessions import Session
from rxagent.streams import settle

from .log import RunLog

if TYPE_CHECKING:
    from .run import Run

__all__ = ["Opening", "open_session"]

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
        self._postponed: tuple[str, StopDepth] | None = None

    def queues(self) -> None:
        """The turn has not come, after all."""
        with self._lock:
            self._state = "queues"

    def begins(self) -> None:
        """The turn has come."""
        with self._lock:
            self._state = "opens"

    def opened(self) -> tuple[str, StopDepth] | None:
        """The message is stored; gives the abort that was postponed."""
        with self._lock:
            self._state = "opened"
            return self._postponed

    def postpones(self, reason: str, after: StopDepth) -> bool:
        """True when this abort waits for the message."""
        with self._lock:
            if self._state != "opens":
                return False
            self._postponed = self._postponed or (reason, after)
            return True


def open_session(run: Run, log: RunLog) -> bool:
    """Load or create the session, store the seals of open calls and the user's event. On the run's worker.

    False when a before-run hook answered in the agent's place. Raises SessionNotFoundError, UsageError for a message
    without parts, and what hooks and the service raise.
    """
    message = run.spec.message
    if message is None or not message.parts:
        raise UsageError("No parts in the new_message; give a text, a Content with parts, or a list of Parts")
    invocation, plugins, context = run.invocation, run.invocation.plugins, run.context
    run.scope.check()
    invocation.session_or_none = _load(run)
    context.agent = find_agent_to_run(run.spec.runner.agent, invocation.session.events)
    run.hooks_are_due = True
    invocation.pending_state = dict(run.spec.state_delta)  # seen by the hooks, stored with the user's event
    replaced = plugins.first("on_user_message_callback", run.scope, context, message)
    if replaced is not None:
        message = Content.of(replaced)
    if run.spec.run_config.save_input_blobs_as_artifacts:
        message = _without_blobs(run, message)
    invocation.user_content = message
    user_event = Event(
        invocation_id=invocation.id,
        author="user",
        content=message,
        actions=EventActions(state_delta=invocation.take_pending_state()),
    )
    invocation.digest = take_digest(run.spec.key, invocation.session.events)
    _refuse_orphans(invocation, user_event)

    def opening() -> list[Event]:
        unanswered = invocation.digest.calls_to_seal(invocation.session.events, user_event)
        log.sealed = len(unanswered)
        return [*seal_events(unanswered, _WHY_SEALED), user_event]

    log.append_opening(opening)
    run.opened()
    context.agent = find_agent_to_run(run.spec.runner.agent, invocation.session.events)
    answer = plugins.first("before_run_callback", run.scope, context)
    if answer is None:
        return True
    run.store(Event(invocation_id=invocation.id, author="model", content=answer))
    return False


def _refuse_orphans(invocation: Invocation, message: Event) -> None:
    """Raise UnknownCallError for an answer to no call of the session; nothing was written."""
    if not message.function_responses:
        return
    invocation.digest.follow(invocation.session.events)
    for response in message.function_responses:
        if not response.id:
            raise UnknownCallError("A function response id is required; give the id of the call that it answers")
        if response.id not in invocation.digest.call_ids:
            raise UnknownCallError(f"No call with the id {response.id!r} in this session; answer one that it has")


def _load(run: Run) -> Session:
    service, key, runner = run.invocation.session_service, run.spec.key, run.spec.runner
    session: Session | None = settle(service.get_session(*key), run.scope)
    if session is not None:
        return session
    create = run.spec.run_config.auto_create_session
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
