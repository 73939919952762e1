"""Errors as HTTP statuses."""

from __future__ import annotations

from typing import Final

from rxagent.errors import SessionBusyError, SessionNotFoundError, UsageError

__all__ = ["status_of"]

_STATUSES: Final = ((SessionNotFoundError, 404), (SessionBusyError, 409), (UsageError, 422))


def status_of(error: BaseException | None) -> int:
    """The client's mistakes are 4xx, all else is 500."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
