"""Plain functions as tools: when and where they run, and what becomes of their errors."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
import reactivex
from reactivex import operators as ops

from rxagent.errors import ToolError
from rxagent.streams.scope import CancelScope, Stopped
from rxagent.streams.single import Single
from rxagent.tools import FunctionTool

from .calls import HandContext, call, result_of
from .functions import INTERNAL, no_city, no_city_later, refuse, refuse_later


def test_cold() -> None:
    """Nothing runs before the subscribe, and each subscribe runs it again."""
    calls: list[int] = []

    def count() -> int:
        calls.append(1)
        return len(calls)

    single = FunctionTool(count).run_async({}, HandContext())
    assert calls == []
    got: list[dict[str, Any]] = []
    single.subscribe(got.append)
    single.subscribe(got.append)
    assert got == [{"result": 1}, {"result": 2}]


def test_plain_function_runs_on_the_subscribing_thread() -> None:
    """A plain function runs where the Single is subscribed."""
    threads: list[threading.Thread] = []

    def where() -> None:
        threads.append(threading.current_thread())

    call(where)
    other = threading.Thread(target=call, args=(where,))
    other.start()
    other.join()
    assert threads == [threading.current_thread(), other]


@pytest.mark.promise("J20")
@pytest.mark.parametrize("func", [refuse, refuse_later], ids=["plain", "async"])
def test_exceptions_are_internal_error_results(func: Callable[..., object], caplog: pytest.LogCaptureFixture) -> None:
    """An exception in a plain function or an `async def` is a generic result; the log has the exception."""
    with caplog.at_level(logging.ERROR, "rxagent.tools"):
        assert result_of(func) == INTERNAL
    [record] = caplog.records
    assert record.name == "rxagent.tools"
    assert func.__name__ in record.getMessage()
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)


@pytest.mark.promise("J20")
@pytest.mark.parametrize(
    "func",
    [no_city, no_city_later, lambda: Single.error(ToolError("no such city"))],
    ids=["raised", "raised async", "emitted"],
)
def test_tool_error(func: Callable[..., object], caplog: pytest.LogCaptureFixture) -> None:
    """A ToolError's text is the model's error result, raised or emitted, and nothing is logged."""
    assert result_of(FunctionTool(func, name="f")) == {"status": "error", "message": "no such city"}
    assert caplog.records == []


@pytest.mark.parametrize("leave", [Stopped(CancelScope()), KeyboardInterrupt(), SystemExit()], ids=repr)
def test_base_exceptions_pass(leave: BaseException) -> None:
    """A stop, a Ctrl-C and an exit pass through a tool untouched."""

    def stop() -> None:
        raise leave

    with pytest.raises(type(leave)) as caught:
        call(stop)
    assert caught.value is leave


def test_a_result_that_cannot_even_be_printed(caplog: pytest.LogCaptureFixture) -> None:
    """A result whose conversion fails is an internal error result."""

    class Bad:
        def __str__(self) -> str:
            raise ValueError("no text")

    with caplog.at_level(logging.ERROR, "rxagent.tools"):
        assert result_of(FunctionTool(lambda: Bad(), name="f")) == INTERNAL


def test_disposed_while_it_ran() -> None:
    """A plain function that was left runs to its end, and its result is seen by nobody."""
    started, go, ran = threading.Event(), threading.Event(), threading.Event()

    def slow() -> str:
        started.set()
        assert go.wait(5)
        ran.set()
        return "late"

    leave: reactivex.Subject[None] = reactivex.Subject()
    got: list[object] = []
    source = FunctionTool(slow).run_async({}, HandContext()).pipe(ops.take_until(leave))
    worker = threading.Thread(target=lambda: source.subscribe(got.append, got.append))
    worker.start()
    assert started.wait(5)
    leave.on_next(None)
    go.set()
    worker.join(5)
    assert ran.is_set()
    assert got == []
