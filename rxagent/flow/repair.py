"""The event that tells that a request had to be repaired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rxagent.events import Event
from rxagent.events.pairing import LoggedCall
from rxagent.invocation import InvocationContext

__all__ = ["REQUEST_REPAIRED", "repair_event"]

REQUEST_REPAIRED: Final = "REQUEST_REPAIRED"
"""`custom_metadata["warning"]` of the event that tells of a repair."""


def repair_event(context: InvocationContext, calls: Sequence[LoggedCall]) -> Event:
    """An event without content that says which calls of the log have no response, so that the request needed one."""
    names = ", ".join(f"{call.name} ({call.call_id})" for call in calls)
    return Event(
        invocation_id=context.invocation_id,
        author=context.agent.name,
        branch=context.branch,
        custom_metadata={
            "warning": REQUEST_REPAIRED,
            "message": f"The log has no response for {names}; the model was told that it is not known what they did.",
            "calls": [{"id": call.call_id, "name": call.name} for call in calls],
        },
    )
