"""Sealing: synthetic responses for open calls, so that a model's next request is well formed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal, get_args

from rxagent.events import Content, Event, FunctionResponse, Part
from rxagent.events.pairing import LoggedCall, open_calls, pending_calls

__all__ = [
    "ABORTED",
    "CALL_SEALED",
    "SEAL_STATUSES",
    "SealStatus",
    "calls_to_seal",
    "is_seal",
    "open_calls",
    "pending_calls",
    "seal_events",
    "seal_part",
]

ABORTED: Final = "INVOCATION_ABORTED"
"""`error_code` of what an abort writes: seals, the closing event, a kept half answer."""

CALL_SEALED: Final = "CALL_SEALED"
"""`error_code` of the seals that a later run writes: it knows that no answer was stored, and not why."""

SealStatus = Literal["never_started", "stopped", "unknown"]

SEAL_STATUSES: Final = frozenset(get_args(SealStatus))

_WORDS: Final[dict[SealStatus, str]] = {
    "never_started": "This call was not started: the run was stopped before ({reason}). It had no effect.",
    "stopped": "This call was stopped before it was done ({reason}). It has no result; part of it may have happened.",
    "unknown": "The run ended before this call gave a result ({reason}). It is not known whether it took effect: "
    "check before calling it again.",
}


def calls_to_seal(events: Iterable[Event]) -> list[LoggedCall]:
    """The open calls that are no designed pause, in log order.

    Before a new message: the log's events and then the message's event, which may itself answer a call.
    """
    return [call for call in open_calls(events) if not call.long_running]


def seal_part(call: LoggedCall, reason: str, status: SealStatus = "unknown") -> Part:
    """The response that says what is known of a call that gave none. It can never be read as success."""
    response = {"status": status, "message": _WORDS[status].format(reason=reason), "reason": reason}
    return Part(function_response=FunctionResponse(id=call.call_id, name=call.name, response=response))


def seal_events(
    calls: Iterable[LoggedCall],
    reason: str,
    *,
    error_code: str = CALL_SEALED,
    status_of: Callable[[LoggedCall], SealStatus] | None = None,
) -> list[Event]:
    """The events that seal these calls: one for each run, author and branch, in the order of their first calls.

    Each carries its calls' own invocation id, author and branch, so that it stands where their real responses would
    have. status_of: what is known of a call; without it, `unknown`. What a later run writes (`CALL_SEALED`) is told
    apart from what an abort writes (`ABORTED`): only the latter closes the run that the events belong to.
    """
    groups: dict[tuple[str | None, str | None, str | None], list[LoggedCall]] = {}
    for call in calls:
        groups.setdefault((call.invocation_id, call.author, call.branch), []).append(call)
    return [
        Event(
            invocation_id=invocation_id,
            author=author,
            branch=branch,
            content=Content(
                role="user",
                parts=tuple(seal_part(call, reason, status_of(call) if status_of else "unknown") for call in group),
            ),
            error_code=error_code,
            error_message=reason,
            custom_metadata={"sealed": True, "reason": reason},
        )
        for (invocation_id, author, branch), group in groups.items()
    ]


def is_seal(event: Event) -> bool:
    """True for an event that `seal_events` made."""
    return bool(event.custom_metadata and event.custom_metadata.get("sealed"))
