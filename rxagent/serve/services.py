"""Calls of services, from the server's event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rxagent.sessions import MaybeAwaitable
from rxagent.streams import CancelScope, aio, settle

__all__ = ["on_worker", "settled"]

T = TypeVar("T")


def settled(value: MaybeAwaitable[T]) -> T:
    """The value, waited for. On a worker."""
    result: T = settle(value, CancelScope())
    return result


async def on_worker(call: Callable[[], MaybeAwaitable[T]]) -> T:
    """What the service answers; the loop goes on meanwhile."""
    result: Any = await aio.in_thread(lambda: settled(call()))
    return result  # type: ignore[no-any-return]
