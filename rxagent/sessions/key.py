"""SessionKey: what names a session."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SessionKey"]


class SessionKey(NamedTuple):
    """What names a session."""

    app_name: str
    user_id: str
    session_id: str
