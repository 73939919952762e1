"""Callbacks as users give them: one, or a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from rxagent.errors import ConfigError

__all__ = ["Callback", "OneOrMany", "callbacks"]

Callback: TypeAlias = Callable[..., Any]
OneOrMany: TypeAlias = Callback | Iterable[Callback] | None


def callbacks(name: str, given: OneOrMany) -> tuple[Callback, ...]:
    """A tuple of functions. Raises ConfigError for what cannot be called."""
    if given is None:
        return ()
    many = (given,) if callable(given) else tuple(given)
    for one in many:
        if not callable(one):
            raise ConfigError(f"{name} takes a function or a list of functions, not {type(one).__name__}")
    return many
