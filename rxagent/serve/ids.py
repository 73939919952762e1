"""The names that requests bring, checked before anything is done with them."""

from __future__ import annotations

from typing import Final

from starlette.exceptions import HTTPException

from rxagent.sessions import SessionKey

__all__ = ["checked_id", "checked_key"]

_MOST: Final = 256
_NEVER: Final = frozenset("/\\")


def checked_id(kind: str, value: str) -> str:
    """The id, when it can be one: 1 to 256 printable characters, no slash, not `.` or `..`. Else status 422.

    kind: what it names, for the message.
    """
    if not 0 < len(value) <= _MOST or value in (".", "..") or not value.isprintable() or _NEVER & set(value):
        raise HTTPException(
            422, f"{kind} is no usable id; give 1 to {_MOST} printable characters without slashes, not . or .."
        )
    return value


def checked_key(app_name: str, user_id: str, session_id: str) -> SessionKey:
    """The name of a session, its user and session id checked."""
    return SessionKey(app_name, checked_id("userId", user_id), checked_id("sessionId", session_id))
