"""The event by which a user is asked about calls (ADK Java, Functions)."""

from __future__ import annotations

from collections.abc import Iterable

from rxagent.events import Content, Event, FunctionCall, Part, new_event_id
from rxagent.events.confirmation import confirmation_call

__all__ = ["question_event"]


def question_event(calls: Iterable[FunctionCall], answer: Event) -> Event | None:
    """The questions that tools have asked while they answered these calls, in call order; None when there are none.

    It is emitted before the answer, whose results are provisional: so a crash between the two leaves the question.
    """
    requested = answer.actions.requested_tool_confirmations
    parts: list[Part] = []
    ids: list[str] = []
    for call in calls:
        if call.id in requested:
            ids.append(f"adk-{new_event_id()}")
            parts.append(confirmation_call(ids[-1], call, requested[call.id]))
    if not parts:
        return None
    return Event(
        invocation_id=answer.invocation_id,
        author=answer.author,
        branch=answer.branch,
        content=Content(role="user", parts=tuple(parts)),
        long_running_tool_ids=frozenset(ids),
    )
