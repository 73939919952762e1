"""State: what a session, its user and its app remember, and the view of it that code of a run writes to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Final

__all__ = ["APP_PREFIX", "REMOVED", "TEMP_PREFIX", "USER_PREFIX", "State"]

APP_PREFIX: Final = "app:"
USER_PREFIX: Final = "user:"
TEMP_PREFIX: Final = "temp:"

REMOVED: Final = "__ADK_SENTINEL_REMOVED__"
"""The value that stands in a delta for a removed key (ADK Java's wire form)."""


class State(MutableMapping[str, Any]):
    """A mapping over the stored state and a delta that is not stored yet.

    Reads see the delta first; writes go to the delta alone, and reach the store and other readers with the event
    that carries it. None is a value; removal is `del state[key]`. Keys with the prefix `app:` are shared by all users
    of the app, `user:` by all sessions of the user, `temp:` lives as long as the run. A value is replaced as a whole:
    a change inside a stored list or dict is not noticed, set the key again.

    Threads: iterating while another thread writes is allowed and shows the keys of the moment it began.
    """

    __slots__ = ("_delta", "_stored")

    def __init__(self, stored: Mapping[str, Any], delta: dict[str, Any] | None = None) -> None:
        self._stored = stored
        self._delta: dict[str, Any] = {} if delta is None else delta

    @property
    def delta(self) -> dict[str, Any]:
        """What was written and is not stored yet; a removed key has the value `REMOVED`."""
        return self._delta

    def has_delta(self) -> bool:
        """True when something was written."""
        return bool(self._delta)

    def __getitem__(self, key: str) -> Any:
        value = self._delta[key] if key in self._delta else self._stored[key]
        if isinstance(value, str) and value == REMOVED:
            raise KeyError(key)
        return value

    def __setitem__(self, key: str, value: Any) -> None:
        self._delta[key] = value

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        if key in self._stored:
            self._delta[key] = REMOVED
        else:
            del self._delta[key]

    def __iter__(self) -> Iterator[str]:
        added = tuple(self._delta)
        for key in tuple(self._stored):
            if key in self:
                yield key
        for key in added:
            if key not in self._stored and key in self:
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, key: object) -> bool:
        try:
            self[key]  # type: ignore[index]
        except KeyError:
            return False
        return True

    def to_dict(self) -> dict[str, Any]:
        """A plain copy: stored state and delta together."""
        return dict(self)

    def __repr__(self) -> str:
        return f"State({self.to_dict()!r}, delta={self._delta!r})"
