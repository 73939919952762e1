"""Deltas of state: which scope a key belongs to, and how a delta changes what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from rxagent.events import APP_PREFIX, REMOVED, TEMP_PREFIX, USER_PREFIX, Event

__all__ = ["Scopes", "apply_delta", "by_scope", "detached", "kept", "merged_state", "stored_form"]

_SCALARS = (str, int, float, bool, bytes, type(None))


class Scopes(NamedTuple):
    """A state or a delta by scope; the keys of app and user stand without their prefix."""

    app: dict[str, Any]
    user: dict[str, Any]
    session: dict[str, Any]


def by_scope(delta: Mapping[str, Any]) -> Scopes:
    """Split a state or a delta by the prefixes of its keys; `temp:` keys are left out."""
    scopes = Scopes({}, {}, {})
    for key, value in delta.items():
        if key.startswith(APP_PREFIX):
            scopes.app[key.removeprefix(APP_PREFIX)] = value
        elif key.startswith(USER_PREFIX):
            scopes.user[key.removeprefix(USER_PREFIX)] = value
        elif not key.startswith(TEMP_PREFIX):
            scopes.session[key] = value
    return scopes


def merged_state(scopes: Scopes) -> dict[str, Any]:
    """One state of three scopes, with the prefixes put back."""
    return {
        **scopes.session,
        **{USER_PREFIX + key: value for key, value in scopes.user.items()},
        **{APP_PREFIX + key: value for key, value in scopes.app.items()},
    }


def apply_delta(state: dict[str, Any], changes: Iterable[tuple[str, Any]]) -> None:
    """Change a state in place: None is a value, `REMOVED` removes, values are never merged.

    What is put in is detached from the delta, so that changing one later in place leaves the other alone.
    """
    for key, value in changes:
        if isinstance(value, str) and value == REMOVED:
            state.pop(key, None)
        else:
            state[key] = detached(value)


def detached(value: Any) -> Any:
    """The value, or a deep copy when it can be changed in place."""
    return value if isinstance(value, _SCALARS) else deepcopy(value)


def kept(delta: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What of a delta is stored: all but `temp:` keys."""
    return (item for item in delta.items() if not item[0].startswith(TEMP_PREFIX))


def stored_form(event: Event) -> Event:
    """The event as it is stored: without `temp:` keys in its delta."""
    delta = event.actions.state_delta
    if not any(key.startswith(TEMP_PREFIX) for key in delta):
        return event
    return event.model_copy(update={"actions": event.actions.model_copy(update={"state_delta": dict(kept(delta))})})
