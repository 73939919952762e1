"""What idles between runs (threads, loops) and can be ended: for tests, and before a fork."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["end_all", "register"]

_ends: list[Callable[[], object]] = []


def register(end: Callable[[], object]) -> None:
    """Have `end` called by `end_all`. It must wait until its thread is gone, and be usable again afterwards."""
    _ends.append(end)


def end_all() -> None:
    """End all that idles, the latest registered first. Work under way is not touched."""
    for end in reversed(_ends):
        end()
