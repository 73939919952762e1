"""Closing: the events that end an aborted run's part of the log."""

from __future__ import annotations

from typing import Final

from rxagent.events import Content, Event, EventActions, FunctionResponse, Part
from rxagent.events.pairing import LoggedCall
from rxagent.history.sealing import ABORTED, SealStatus, seal_part
from rxagent.invocation import Invocation

from .tool_run import ToolRun

__all__ = ["ABORT_WORDS", "closing_events"]

ABORT_WORDS: Final = "The run was aborted: "
"""What stands before the reason in the error message of an abort's events."""


def closing_events(invocation: Invocation, author: str, branch: str | None, reason: str) -> list[Event]:
    """Responses for the run's open calls: one event per author and branch, in call order; without any, a bare event.

    A call that has ended has its real result; of the others it is said what is known (`never_started`, `stopped`,
    `unknown`). Designed pauses stay open. Each event has the error code, the last one ends the run (ADK Python).
    Only for a run whose session is open.
    """
    groups: dict[tuple[str | None, str | None], list[LoggedCall]] = {}
    for call in _open_calls(invocation):
        groups.setdefault((call.author, call.branch), []).append(call)
    if not groups:
        return [_event(invocation, author, branch, reason)]
    return [_answer(invocation, calls, reason) for calls in groups.values()]


def _open_calls(invocation: Invocation) -> list[LoggedCall]:
    digest, events = invocation.digest, invocation.session.events
    calls: list[LoggedCall] = [
        call for call in digest.open_calls(events) if call.invocation_id == invocation.id and not call.long_running
    ]
    decided = [one.call for one in digest.decided(events) if one.call not in calls]  # whichever run has asked
    return sorted([*calls, *decided], key=lambda call: call.number)


def _answer(invocation: Invocation, calls: list[LoggedCall], reason: str) -> Event:
    parts: list[Part] = []
    actions: list[EventActions] = []
    sealed = False
    for call in calls:
        run: ToolRun | None = invocation.calls.runs.get(call.call_id or "")
        landing = invocation.calls.find(call.call_id or "")
        if run is not None and run.has_ended and (part := run.response()) is not None:
            parts.append(part)
            actions.append(run.context.actions)
        elif run is not None and landing is not None and landing.state == "returned":
            response = FunctionResponse(id=call.call_id, name=call.name, response=landing.result)
            parts.append(Part(function_response=response))
            actions.append(run.context.actions)
        else:
            status: SealStatus = "unknown"
            if landing is None or landing.state == "waiting":
                status = "never_started"
            elif landing.state == "stopped":
                status = "stopped"
            parts.append(seal_part(call, reason, status))
            sealed = True
    event = _event(invocation, calls[0].author, calls[0].branch, reason)
    changes: dict[str, object] = {
        "content": Content(role="user", parts=tuple(parts)),
        "actions": EventActions.merged(actions),
    }
    if sealed:
        changes["custom_metadata"] = {"sealed": True, "reason": reason}
    return event.model_copy(update=changes)


def _event(invocation: Invocation, author: str | None, branch: str | None, reason: str) -> Event:
    return Event(
        invocation_id=invocation.id,
        author=author,
        branch=branch,
        error_code=ABORTED,
        error_message=f"{ABORT_WORDS}{reason}",
    )
