"""Strays: asyncio tasks that a tool starts and leaves behind. They end with the run."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from .ledger import Ledger, current_ledger

__all__ = ["owns_strays"]

T = TypeVar("T")

_owner: contextvars.ContextVar[Ledger | None] = contextvars.ContextVar("rxagent_stray_owner", default=None)


def owns_strays(make: Callable[[], Coroutine[Any, Any, T]]) -> Callable[[], Coroutine[Any, Any, T]]:
    """A coroutine whose tasks, and theirs, belong to the run that it is part of.

        coroutine  --r|
        task       ----------x   the run ends: cancelled
        run        ----------|   ... and it has ended when the task's own cleanup has, or its grace is over

    A task made in a context of its own, `create_task(..., context=contextvars.Context())`, belongs to nobody.
    """
    ledger = current_ledger.get()
    if ledger is None:
        return make

    async def owning() -> T:
        _watch(asyncio.get_running_loop())
        _owner.set(ledger)  # in this task's own context
        return await make()

    return owning


class _Watching:
    """A task factory that lets another one make the task, and adopts it when it has an owner."""

    def __init__(self, make: Callable[..., Any] | None) -> None:
        self._make = make

    def __call__(self, loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **options: Any) -> Any:
        make = self._make
        task = asyncio.Task(coro, loop=loop, **options) if make is None else make(loop, coro, **options)
        ledger = options["context"].get(_owner) if options.get("context") is not None else _owner.get()
        if ledger is not None:
            _adopt(loop, task, ledger)
        return task


def _watch(loop: asyncio.AbstractEventLoop) -> None:
    make = loop.get_task_factory()
    if not isinstance(make, _Watching):
        watching: Any = _Watching(make)  # no Protocol says what a factory really is called with
        loop.set_task_factory(watching)


def _adopt(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], ledger: Ledger) -> None:
    def cancel() -> None:
        with suppress(RuntimeError):  # the loop is closed: asyncio.run has cancelled the task
            loop.call_soon_threadsafe(task.cancel)

    def ended(_: object) -> None:
        take_back()
        ledger.leave(on_loop=True)

    ledger.enter()
    take_back = ledger.strays.on_cancel(cancel)
    task.add_done_callback(ended)
