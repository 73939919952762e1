"""Coroutine functions as tools: awaited on the run's loop, cancelled with the call."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Awaitable
from typing import Any

import pytest

from rxagent.streams.aio import home_loop
from rxagent.tools import CallContext, FunctionTool

from .calls import Call, HandContext, call, result_of
from .functions import INTERNAL, AsyncShop, look_up, refuse_later


@pytest.mark.promise("J8")
def test_coroutine_functions() -> None:
    """An `async def`, an object with an async __call__ and a partial of one are awaited."""
    assert Call(FunctionTool(look_up), {"url": "x"}, HandContext("c3")).wait().results == [{"result": "c3: x"}]
    assert result_of(AsyncShop(), item="tea") == {"result": "tea"}
    tool = FunctionTool(functools.partial(look_up, url="y"))
    assert Call(tool, {}, HandContext("c4")).wait().results == [{"result": "c4: y"}]


@pytest.mark.promise("J20")
def test_a_function_that_returns_a_coroutine() -> None:
    """A decorated `async def`, plain to look at, counts as one: its exception is an internal error result."""

    @functools.wraps(refuse_later)
    def wrapper() -> Awaitable[object]:
        return refuse_later()

    assert result_of(wrapper) == INTERNAL


def test_a_decorator_that_runs_the_coroutine() -> None:
    """A wrapped `async def` whose wrapper returns the value is a plain function."""

    @functools.wraps(look_up)
    def wrapper(url: str, tool_context: CallContext) -> str:
        return asyncio.run(look_up(url, tool_context))

    assert Call(FunctionTool(wrapper), {"url": "x"}).wait().results == [{"result": "c1: x"}]


@pytest.mark.promise("J8")
def test_dispose_cancels_the_coroutine() -> None:
    """Disposing the call cancels the task; its cleanup runs, and what it returns is seen by nobody."""
    started, cleaned = threading.Event(), threading.Event()

    async def wait() -> str:
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cleaned.set()
        return "a fake success"

    left = Call(FunctionTool(wait), {})
    assert started.wait(5)
    left.handle.dispose()
    assert cleaned.wait(5)
    assert (left.results, left.errors) == ([], [])


def test_a_coroutine_runs_on_the_home_loop() -> None:
    """A coroutine runs on the loop of the run that it is part of."""

    async def where() -> bool:
        return asyncio.get_running_loop() is home

    async def main() -> dict[str, Any]:
        home_loop.set(home)
        return await FunctionTool(where).run_async({}, HandContext())

    home = asyncio.new_event_loop()
    try:
        assert home.run_until_complete(main()) == {"result": True}
    finally:
        home.close()


def test_a_cancel_from_elsewhere_is_an_error() -> None:
    """A coroutine left by a BaseException, a foreign cancel too, is the call's error: no result hides it."""

    async def give_up() -> None:
        raise asyncio.CancelledError

    ended = call(give_up)
    assert ended.results == []
    [error] = ended.errors
    assert isinstance(error.__cause__, asyncio.CancelledError)
