"""Items of any thread for one task of a loop."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from rxagent.streams import CancelScope
from rxagent.streams.aio import LoopInbox
from rxagent.streams.workers import workers

from .acting import LIMIT


@asynccontextmanager
async def inbox() -> AsyncIterator[tuple[LoopInbox[str], CancelScope]]:
    yield LoopInbox[str](), CancelScope()


def test_loop_inbox() -> None:
    """Items of other threads come in their order; a wait over its time gives None."""

    async def main() -> None:
        async with inbox() as (items, scope):
            put = items.put_threadsafe(scope)
            assert await items.get(0.01) is None
            workers.spawn(lambda: [put(mark) for mark in "abc"])
            assert [await items.get(LIMIT) for _ in range(3)] == ["a", "b", "c"]
            workers.spawn(lambda: put("d"))
            assert await items.get() == "d"

    asyncio.run(main(), debug=True)


def test_loop_inbox_many() -> None:
    """Of 2,000 items of two threads none is lost, whatever the time-outs."""

    async def main() -> list[str]:
        async with inbox() as (items, scope):
            put = items.put_threadsafe(scope)
            for mark in "ab":
                workers.spawn(lambda mark=mark: [put(mark) for _ in range(1000)])  # type: ignore[misc]
            found: list[str] = []
            while len(found) < 2000:
                item = await items.get(0.0001)
                if item is not None:
                    found.append(item)
            return found

    assert sorted(asyncio.run(main())) == ["a"] * 1000 + ["b"] * 1000


def test_loop_inbox_of_a_closed_loop() -> None:
    """A put for a closed loop cancels the scope."""
    found: list[Any] = []

    async def main() -> None:
        async with inbox() as (items, scope):
            found.extend((items.put_threadsafe(scope), scope))

    asyncio.run(main())
    found[0]("late")
    assert found[1].reason == "the loop was closed"
