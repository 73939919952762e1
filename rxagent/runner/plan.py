"""Plan: what a run is to do with its message: begin, go on with an invocation, or nothing. Nothing is written yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from rxagent.agents import BaseAgent, find_agent_to_run, rehydrated
from rxagent.errors import SpanningAnswersError, UnknownCallError, UnknownInvocationError, UsageError
from rxagent.events import Content, Event, FunctionResponse
from rxagent.events.confirmation import read_decision
from rxagent.events.pairing import LoggedCall
from rxagent.history.digest import SessionDigest
from rxagent.invocation import Progress

if TYPE_CHECKING:
    from .run import Run

__all__ = ["Plan", "plan_of"]


class Plan(NamedTuple):
    """What is to be done.

    kind: "new", "resume"; "nothing" for what is done already: the stream is empty. invocation_id: given or found; None
    for a fresh one. message: what of it is stored. branch: of the message. takes_state: the state delta is stored, too.
    agent, progress: who goes on, and where the agents stand; of a resumed invocation.
    """

    kind: Literal["new", "resume", "nothing"]
    invocation_id: str | None = None
    message: Content | None = None
    branch: str | None = None
    takes_state: bool = True
    agent: BaseAgent | None = None
    progress: Progress | None = None
    original: Content | None = None


def plan_of(run: Run, digest: SessionDigest, events: Sequence[Event]) -> Plan:
    """Resolve the arguments of a run against the session's log (ADK Java, Runner).

    Raises UnknownCallError, SpanningAnswersError, UnknownInvocationError, AgentTreeChangedError, and UsageError for a
    message without parts and for an answer that does not decide its question.
    """
    message, given = run.spec.message, run.spec.invocation_id
    is_resumable = run.invocation.resumability.resumable
    responses = _responses(message)
    if message is not None and responses:
        answered = _answered(digest, events, message, responses, strictly=is_resumable)
        kept = _without_repeated(message, answered, strictly=is_resumable)
        if not is_resumable:
            return Plan("new", message=kept) if kept.parts else Plan("nothing")
        resumed = _one_invocation(answered, given)
        if not _responses(kept):
            return Plan("nothing", resumed)
        return _resumed(run, digest, events, resumed, kept, answered[0].branch)
    if given is None or digest.start_of(given, events) is None:
        if message is None or not message.parts:
            raise UnknownInvocationError(
                "No new message, and no invocation to resume; give a message, or the invocation_id of a run of this "
                f"session{'' if given is None else f' ({given!r} is none)'}"
            )
        return Plan("new", given, message)
    return _resumed(run, digest, events, given, message, None)


def _resumed(
    run: Run,
    digest: SessionDigest,
    events: Sequence[Event],
    invocation_id: str,
    message: Content | None,
    branch: str | None,
) -> Plan:
    root = run.spec.runner.agent
    own = digest.events_of(invocation_id, events)
    progress = rehydrated(root, own)
    start = digest.start_of(invocation_id, events) or 0
    agent = find_agent_to_run(root, events[: start + 1])
    if progress.has_finished(agent.name):
        return Plan("nothing", invocation_id)
    original = next((event.content for event in own if event.author == "user" and event.parts), None)
    if original is None and message is None:
        raise UnknownInvocationError(
            f"No user message to resume the invocation {invocation_id!r} from; send one with this invocation_id"
        )
    takes_state = True
    if message is not None and not _responses(message) and original is not None:
        message, takes_state = None, False  # plain text is dropped, together with its state delta
    return Plan("resume", invocation_id, message, branch, takes_state, agent, progress, original)


def _answered(
    digest: SessionDigest,
    events: Sequence[Event],
    message: Content,
    responses: Sequence[FunctionResponse],
    *,
    strictly: bool,
) -> list[LoggedCall]:
    """The calls that the responses answer, one for each. Raises for what answers none."""
    found = digest.answered_by(events, Event(author="user", content=message))
    calls: list[LoggedCall] = []
    for response, call in zip(responses, found, strict=True):
        if not response.id:
            raise UnknownCallError("A function response id is required; give the id of the call that it answers")
        if call is None:
            raise UnknownCallError(f"No call with the id {response.id!r} in this session; answer one that it has")
        if strictly and response.name and response.name != call.name:
            raise UnknownCallError(
                f"The call {response.id!r} is one of {call.name!r}, not of {response.name!r}; answer it by its own name"
            )
        if strictly and call.is_question and read_decision(response) is None:
            raise UsageError(
                f"The answer to the question {response.id!r} does not say whether the call is confirmed; "
                'answer {"confirmed": true} or {"confirmed": false}'
            )
        calls.append(call)
    return calls


def _without_repeated(message: Content, answered: Sequence[LoggedCall], *, strictly: bool) -> Content:
    """The message without answers to what was answered before: it is decided once."""
    calls = iter(answered)
    parts = [
        part
        for part in message.parts or ()
        if part.function_response is None or not ((call := next(calls)).is_answered and (strictly or call.is_question))
    ]
    return message if len(parts) == len(message.parts or ()) else message.model_copy(update={"parts": tuple(parts)})


def _one_invocation(answered: Sequence[LoggedCall], given: str | None) -> str:
    ids = {call.invocation_id or "" for call in answered}
    if given is not None:
        ids.add(given)
    if len(ids) > 1:
        raise SpanningAnswersError(
            f"The answers span {len(ids)} invocations ({', '.join(sorted(ids))}); all of them must answer the same one"
        )
    return next(iter(ids))


def _responses(message: Content | None) -> list[FunctionResponse]:
    parts = (message.parts or ()) if message is not None else ()
    return [part.function_response for part in parts if part.function_response is not None]
