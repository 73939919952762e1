"""The errors of all session services: what happened, and what to do next."""

from __future__ import annotations

from rxagent.errors import (
    AlreadyClaimedError,
    FencedError,
    SessionBusyError,
    SessionNotFoundError,
    StaleSessionError,
    UsageError,
)

from .key import SessionKey

__all__ = ["already_claimed", "busy", "exists", "fenced", "not_found", "stale"]


def exists(key: SessionKey) -> UsageError:
    """Of a session that is to be created again."""
    return UsageError(f"session {key.session_id!r} of user {key.user_id!r} exists; get it, or take another id")


def not_found(key: SessionKey) -> SessionNotFoundError:
    """Of a session that is to be written and is not there."""
    return SessionNotFoundError(
        f"app {key.app_name!r}, user {key.user_id!r} has no session {key.session_id!r}; create it first "
        "(it may have been deleted since it was read)"
    )


def busy(key: SessionKey, run_id: str) -> SessionBusyError:
    """Of a turn that another run holds."""
    return SessionBusyError(
        f"session {key.session_id!r} is at work for run {run_id!r}; wait for its end, or ask it to stop (request_stop)"
    )


def fenced(key: SessionKey, epoch: int) -> FencedError:
    """Of a run whose turn is over."""
    return FencedError(
        f"turn {epoch} of session {key.session_id!r} was given back or taken over; nothing was written: "
        "stop this run, and read the session again for what came later"
    )


def stale(key: SessionKey, expected: int, last: int) -> StaleSessionError:
    """Of a writer that does not know the end of the log."""
    return StaleSessionError(
        f"session {key.session_id!r} ends at event {last}, not {expected}; nothing was written: "
        "read the events behind the one you know, and decide again"
    )


def already_claimed(key: SessionKey, claim: str) -> AlreadyClaimedError:
    """Of an answer that came a second time."""
    return AlreadyClaimedError(
        f"call {claim!r} of session {key.session_id!r} was answered before; nothing was written: "
        "go on with the invocation by its id instead of answering again"
    )
