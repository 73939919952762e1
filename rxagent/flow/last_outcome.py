"""LastOutcome: how the run before this one ended, as far as the log tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rxagent.events import Event
from rxagent.events.pairing import LoggedCall
from rxagent.history.sealing import ABORTED, CALL_SEALED

from .closing import ABORT_WORDS

__all__ = ["LAST_OUTCOME", "last_outcome"]

LAST_OUTCOME: Final = "temp:last_outcome"
"""The key of the state, for the run that follows an unfinished one: `{temp:last_outcome?}` in an instruction."""


def last_outcome(events: Sequence[Event], pauses: Iterable[LoggedCall]) -> dict[str, str | None] | None:
    """`{"kind": ..., "reason": ...}` of a run that did not come to its end; None after one that did, or none.

    kind: "aborted", with the reason; "paused", when one of `pauses`, the log's open ones, is its; else "unfinished":
    left by its consumer, failed, or killed, which the log cannot tell apart.
    """
    last = next((event for event in reversed(events) if _tells(event)), None)
    if last is None:
        return None
    if last.error_code == ABORTED:
        return _ended("aborted", (last.error_message or "").removeprefix(ABORT_WORDS) or None)
    if any(call.invocation_id == last.invocation_id for call in pauses):
        return _ended("paused")
    if last.author == "user" or not last.final_response():
        return _ended("unfinished")
    return None


def _ended(kind: str, reason: str | None = None) -> dict[str, str | None]:
    return {"kind": kind, "reason": reason}


def _tells(event: Event) -> bool:
    """False for what says nothing of its run's end: state alone, summaries, seals that a later run has written."""
    return event.error_code != CALL_SEALED and (event.content is not None or event.error_code == ABORTED)
