"""What a service gave to code of a run: a value, or what has to be waited for."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from reactivex import Observable

from rxagent.errors import UsageError
from rxagent.streams import CancelScope, aio, as_single, is_deferred, settle

__all__ = ["answer_here", "answer_in_coroutine"]


def answer_here(answer: Any, scope: CancelScope, instead: str) -> Any:
    """The answer's value; blocks for a deferred one, and a stop leaves it.

    instead: what to write in a coroutine. Raises UsageError on an event loop's thread, where waiting would block the
    loop.
    """
    if is_deferred(answer) and aio.on_loop_thread():
        getattr(answer, "close", _nothing)()  # a coroutine that nobody will await
        raise UsageError(
            "this service returns awaitables, and waiting here would block the event loop; in a coroutine write "
            + instead
        )
    return settle(answer, scope)


async def answer_in_coroutine(answer: Any) -> Any:
    """The answer's value, for a coroutine."""
    if not is_deferred(answer):
        return answer
    if isinstance(answer, Awaitable) and not isinstance(answer, Observable):
        return await answer
    return await aio.awaitable(as_single(answer))


def _nothing() -> None: ...
