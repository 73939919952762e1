"""How an agent that asks a model goes on with what an earlier run, or the user, has left it."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from rxagent.events import Event, ToolConfirmation
from rxagent.events.pairing import LoggedCall
from rxagent.invocation import InvocationContext

from .model_turn import Rerun

__all__ = ["ResumePoint", "has_paused", "reruns", "waits"]


class ResumePoint(NamedTuple):
    """Where an agent stood when the earlier run ended.

    handed_to: the agent that had taken over from it and has not finished. last: the last event of its step: its own,
    of the agent that has finished after taking over, or the user's answer.
    """

    handed_to: str | None = None
    last: Event | None = None

    @property
    def has_answered(self) -> bool:
        """True when it had said its last, and only its end was missing. A user's answer is a response: never final."""
        last = self.last
        return last is not None and last.final_response() and not last.long_running_tool_ids


def reruns(context: InvocationContext, *, resumed: bool) -> list[Rerun]:
    """The calls that run before the model is asked, in log order.

    Those that the user has decided about; and, of a resumed agent, those that were cut: they have no response, are no
    designed pause, and nobody has been asked about them. (ADK Java, StepResume.)
    """
    digest, events, name = context.invocation.digest, context.session.events, context.agent.name
    decided: list[tuple[LoggedCall, ToolConfirmation | None]] = [
        (call, confirmation) for call, confirmation in digest.decided(events) if call.author == name
    ]
    if not context.is_resumable:
        return [(call.function_call, confirmation) for call, confirmation in decided]
    here = (context.invocation_id, context.branch)
    found = [(call, confirmation) for call, confirmation in decided if (call.invocation_id, call.branch) == here]
    if resumed:
        asked = digest.asked_about(events)
        known = [call for call, _ in found]
        found += [
            (call, None)
            for call in digest.open_calls(events)
            if not call.long_running
            and (call.author, call.invocation_id, call.branch) == (name, *here)
            and call not in asked
            and call not in known
        ]
    return [(call.function_call, confirmation) for call, confirmation in sorted(found, key=lambda one: one[0].number)]


def waits(context: InvocationContext) -> bool:
    """True when the agent has a long-running call without any value: it asks its model only when that has come."""
    return context.is_resumable and any(call.is_open or call.is_question for call in context.pauses())


def has_paused(context: InvocationContext) -> bool:
    """True when one of the last two events here, or of an agent that has taken over, has a long-running call.

    So runs of the older flow end there, though the call may have a value (ADK Java 1.8).
    """
    here, below = context.branch, f"{context.branch}."
    own = (
        event
        for event in reversed(context.session.events)
        if event.invocation_id == context.invocation_id
        and (not here or event.branch == here or (event.branch or "").startswith(below))
    )
    return any(event.long_running_tool_ids for event in islice(own, 2))
