"""Repair: the last line of defence for a model's request, and the event that tells of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rxagent.events import Event, Part
from rxagent.events.pairing import LoggedCall
from rxagent.invocation import InvocationContext

from .sealing import seal_part

__all__ = ["REQUEST_REPAIRED", "repair_event", "repair_part"]

REQUEST_REPAIRED: Final = "REQUEST_REPAIRED"
"""`custom_metadata["warning"]` of the event that tells of a repair."""

_WHY: Final = "its response is not in the log"


def repair_part(call: LoggedCall) -> Part:
    """What a request says for a call without a response that no run has sealed; it is never stored."""
    return seal_part(call, _WHY)


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
