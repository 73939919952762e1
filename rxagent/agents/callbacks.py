"""Callbacks as users give them: one, or a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from rxagent.plugins import check_hook

__all__ = ["Callback", "OneOrMany", "callbacks"]

Callback: TypeAlias = Callable[..., Any]
OneOrMany: TypeAlias = Callback | Iterable[Callback] | None


def callbacks(name: str, given: OneOrMany) -> tuple[Callback, ...]:
    """A tuple of functions. Raises ConfigError for what cannot be called with the arguments of this callback."""
    if given is None:
        return ()
    many = (given,) if callable(given) or not isinstance(given, Iterable) else tuple(given)
    for one in many:
        check_hook(name, one)
    return many
