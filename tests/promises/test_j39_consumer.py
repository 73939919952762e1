"""The consumer's own exceptions: never seen by the flow, and the end of the run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from reactivex import operators as ops

from rxagent.events import Event
from rxagent.invocation import CallbackContext
from rxagent.models import LlmRequest, LlmResponse
from rxagent.plugins import BasePlugin
from rxagent.testing.scripted_model import ScriptedModel, call
from tests.runner.driving import SSE, USER, Consumer, Ends, log, runner_of, said, within


class Hears(BasePlugin):
    """Would answer an error of the model or a tool."""

    def __init__(self) -> None:
        super().__init__("hears")
        self.errors: list[BaseException] = []

    def on_model_error_callback(self, ctx: CallbackContext, llm_request: LlmRequest, error: Exception) -> LlmResponse:
        self.errors.append(error)
        return LlmResponse()

    def on_tool_error_callback(self, tool: Any, args: Any, ctx: Any, error: Exception) -> dict[str, Any]:
        self.errors.append(error)
        return {}


@pytest.mark.promise("J39")
@pytest.mark.parametrize("at", range(1, 7))
def test_an_exception_in_on_next(at: int) -> None:
    """At any item: no callback sees it, nothing more is appended, on_error gets it, and the outcome is failed."""
    error, hears, ends = LookupError("the consumer's own"), Hears(), Ends()

    def tool() -> str:
        """Work."""
        return "done"

    model = ScriptedModel(["I ", "look. ", call("tool")], ["Done."])
    runner = runner_of(model, tools=[tool], plugins=[hears, ends])
    appended: list[int] = []

    def on_next(_: Event) -> None:
        if len(consumer.events) == at:
            appended.append(len(log(runner)))
            raise error

    consumer = Consumer(on_next)
    consumer.of(runner.run_async(USER, "s", "Hi", SSE)).wait()
    outcome = ends.next()
    assert (consumer.error, consumer.ends, len(consumer.events)) == (error, ["error"], at)
    assert (outcome.kind, outcome.error, ends.after_run, hears.errors) == ("failed", error, [], [])
    assert len(log(runner)) == appended[0]
    assert said(log(runner)) == ["user: Hi", *said(consumer.finals)]
    assert all(one.state in ("completed", "stopped") for one in model.calls)


@pytest.mark.promise("J39")
def test_an_exception_in_an_operator() -> None:
    """An operator of the consumer that fails is no failure of the run: it leaves, and its own on_error tells."""
    ends = Ends()
    runner = runner_of([["a", "b"]], plugins=[ends])
    stream = runner.run_async(USER, "s", "Hi", SSE).pipe(ops.map(lambda event: 1 // 0))
    consumer = Consumer().of(stream).wait()
    assert isinstance(consumer.error, ZeroDivisionError)
    assert ends.next().kind == "disposed"
    assert said(log(runner)) == ["user: Hi"]


@pytest.fixture
def thread_errors() -> Iterator[list[BaseException | None]]:
    """What left threads by their roots."""
    found: list[BaseException | None] = []
    plain, threading.excepthook = threading.excepthook, lambda args: found.append(args.exc_value)
    yield found
    threading.excepthook = plain


@pytest.mark.promise("J39")
@pytest.mark.parametrize("error", [SystemExit("enough"), KeyboardInterrupt("enough")])
def test_a_base_exception_in_on_next(error: BaseException, thread_errors: list[BaseException | None]) -> None:
    """A BaseException also leaves the worker's root; the session is free all the same."""
    ends = Ends()
    runner = runner_of(ScriptedModel("Hello.", repeat_last=True), plugins=[ends])

    def on_next(_: Event) -> None:
        raise error

    consumer = Consumer(on_next).of(runner.run_async(USER, "s", "Hi")).wait()
    outcome = ends.next()
    assert (consumer.error, outcome.kind, outcome.error) == (error, "failed", error)
    assert said(runner.run(USER, "s", "Again")) == ["agent: Hello."]
    assert within(lambda: thread_errors == [error])
