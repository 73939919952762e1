"""What a tool's errors become: a result for the model, or the end of the run."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
import reactivex as rx

from rxagent.errors import ToolError
from rxagent.events import Event
from rxagent.events.pairing import open_calls
from rxagent.invocation import ToolContext
from rxagent.plugins import BasePlugin
from rxagent.streams import Single, SingleEmitter
from rxagent.testing.scripted_model import ScriptedModel, call
from rxagent.tools import BaseTool, CallContext
from tests.runner.driving import USER, Consumer, Ends, log, runner_of, said

from .desk import MODES, mode

SECRET = ValueError("password hunter2")
TOLD = ToolError("The city is unknown.")
GENERIC = {"status": "error", "message": "An internal error occurred."}
FOR_THE_MODEL = {"status": "error", "message": "The city is unknown."}


class Direct(BaseTool):
    """A tool without the wrapper for functions."""

    def __init__(self, run: Callable[[], Single[Any]]) -> None:
        super().__init__("tool", "Work.")
        self._run = run

    def run_async(self, args: dict[str, Any], tool_context: CallContext) -> Single[dict[str, Any]]:
        return self._run()


def raising(error: Exception) -> Any:
    def tool() -> str:
        raise error

    return tool


def raising_later(error: Exception) -> Any:
    async def tool() -> str:
        raise error

    return tool


def emitting(error: Exception) -> Any:
    def tool() -> Single[str]:
        return Single.error(error)

    return tool


def raising_in_create(error: Exception) -> Any:
    def start(emitter: SingleEmitter[str]) -> None:
        raise error

    def tool() -> Single[str]:
        return Single.create(start)

    return tool


def failing_observable(error: Exception) -> Any:
    def tool() -> rx.Observable[str]:
        return rx.throw(error)

    return tool


def failing_future(error: Exception) -> Any:
    def tool() -> Future[str]:
        future: Future[str] = Future()
        future.set_exception(error)
        return future

    return tool


def direct_raising(error: Exception) -> Any:
    def run() -> Single[Any]:
        raise error

    return Direct(run)


def direct_emitting(error: Exception) -> Any:
    return Direct(lambda: Single.error(error))


RAISED: list[Any] = [raising, raising_later]
EMITTED: list[Any] = [
    emitting,
    raising_in_create,
    failing_observable,
    failing_future,
    direct_raising,
    direct_emitting,
]


def named(make: Any) -> str:
    return str(make.__name__)


class World:
    """One run: the model calls the tool (and another one, so that each mode can do what it does), then says "Done."."""

    def __init__(self, tool: Any, **options: Any) -> None:
        self.asked: list[str] = []
        self.model = ScriptedModel([call("tool"), call("other")], "Done.")
        self.ends = Ends()
        plugins = [self.ends, *options.pop("plugins", ())]
        self.runner = runner_of(
            self.model,
            tools=[tool, other],
            plugins=plugins,
            on_tool_error_callback=[self._note_error, *options.pop("on_tool_error", ())],
            after_tool_callback=self._note_result,
            **options,
        )

    def _note_error(self, tool: BaseTool, args: dict[str, Any], ctx: ToolContext, error: Exception) -> None:
        self.asked.append(f"on_tool_error {tool.name} {type(error).__name__}")

    def _note_result(self, tool: BaseTool, args: dict[str, Any], ctx: ToolContext, result: dict[str, Any]) -> None:
        if tool.name == "tool":
            self.asked.append(f"after_tool {result.get('message', result)}")

    def run(self, tool_mode: Any = "none") -> Consumer:
        return Consumer().of(self.runner.run_async(USER, "s", "Hi", mode(tool_mode))).wait()

    def result(self, tool_mode: Any = "none") -> dict[str, Any] | None:
        """The result of the call in a run that goes on to its end."""
        consumer = self.run(tool_mode)
        assert said(consumer.events) == [
            "agent: call(tool) call(other)",
            "agent: response(tool) response(other)",
            "agent: Done.",
        ]
        assert self.ends.next().kind == "completed"
        return consumer.events[1].function_responses[0].response


def other() -> str:
    """Work."""
    return "other"


@pytest.mark.promise("J20")
@pytest.mark.parametrize("make", RAISED, ids=named)
@pytest.mark.parametrize("tool_mode", MODES)
def test_raised(make: Any, tool_mode: Any, caplog: pytest.LogCaptureFixture) -> None:
    """An exception raised in a function or a coroutine is a generic result, its text is in the log file alone; the run
    goes on, on-tool-error is not asked, after-tool is."""
    caplog.set_level(logging.ERROR, "rxagent.tools")
    world = World(make(SECRET))
    assert world.result(tool_mode) == GENERIC
    assert world.asked == ["after_tool An internal error occurred."]
    assert "hunter2" not in "".join(event.model_dump_json() for event in log(world.runner))
    assert "hunter2" not in "".join(str(request.contents) for request in world.model.requests)
    assert [record.exc_info[1] for record in caplog.records if record.exc_info] == [SECRET]


@pytest.mark.promise("J20")
@pytest.mark.parametrize("make", EMITTED, ids=named)
@pytest.mark.parametrize("tool_mode", MODES)
def test_emitted(make: Any, tool_mode: Any) -> None:
    """An error of a returned Single, Observable or Future fails the run, as it is, when no on-tool-error callback
    answers; so does whatever a direct subclass of BaseTool raises, and what the function of Single.create raises."""
    world = World(make(SECRET))
    consumer = world.run(tool_mode)
    assert consumer.error is SECRET
    assert world.asked == ["on_tool_error tool ValueError"]
    assert world.ends.next().kind == "failed"
    assert "tool" in [one.name for one in open_calls(log(world.runner))]
    assert len(world.model.calls) == 1


class Rescues(BasePlugin):
    """Answers for each error."""

    def on_tool_error_callback(
        self, tool: BaseTool, args: dict[str, Any], ctx: ToolContext, error: Exception
    ) -> dict[str, Any]:
        return {"instead of": str(error)}


@pytest.mark.promise("J20")
@pytest.mark.parametrize("make", EMITTED, ids=named)
@pytest.mark.parametrize("by", ["agent", "plugin"])
@pytest.mark.parametrize("tool_mode", MODES)
def test_rescued(make: Any, by: str, tool_mode: Any) -> None:
    """An on-tool-error callback that supplies a result saves the run; after-tool sees that result."""
    rescues = Rescues("rescues")
    if by == "plugin":
        world = World(make(SECRET), plugins=[rescues])
    else:
        world = World(make(SECRET), on_tool_error=[rescues.on_tool_error_callback])
    assert world.result(tool_mode) == {"instead of": "password hunter2"}
    asked = ["on_tool_error tool ValueError"] if by == "agent" else []  # a plugin that answers comes first
    assert world.asked == [*asked, "after_tool {'instead of': 'password hunter2'}"]


@pytest.mark.promise("J20")
@pytest.mark.parametrize("make", RAISED + EMITTED, ids=named)
@pytest.mark.parametrize("tool_mode", MODES)
def test_tool_error(make: Any, tool_mode: Any) -> None:
    """A ToolError, raised or emitted, of any tool, is a result with its text; nobody is asked, and the run goes on."""
    world = World(make(TOLD))
    assert world.result(tool_mode) == FOR_THE_MODEL
    assert world.asked == ["after_tool The city is unknown."]


@pytest.mark.promise("J20")
def test_tool_error_of_a_guard() -> None:
    """A before-tool callback that raises a ToolError tells the model why the tool was not called."""

    def guard(tool: BaseTool, args: dict[str, Any], ctx: ToolContext) -> None:
        if tool.name == "tool":
            raise TOLD

    called: list[str] = []

    def tool() -> str:
        called.append("tool")
        return "never"

    assert World(tool, before_tool_callback=guard).result() == FOR_THE_MODEL
    assert called == []


@pytest.mark.promise("J20")
@pytest.mark.parametrize("value", ["a text", ["a", "list"], 3], ids=str)
def test_what_a_direct_tool_gives(value: Any) -> None:
    """A direct subclass that gives no dict has its value put in one, as a function has."""
    assert World(Direct(lambda: Single.just(value))).result() == {"result": value}


@pytest.mark.promise("J20")
@pytest.mark.parametrize("tool_mode", MODES)
def test_an_unknown_tool(tool_mode: Any) -> None:
    """A call of a tool that does not exist is answered: the model is told which ones there are."""
    model = ScriptedModel([call("tol"), call("other")], "Done.")
    consumer = Consumer().of(runner_of(model, tools=[other]).run_async(USER, "s", "Hi", mode(tool_mode))).wait()
    answers: tuple[Any, ...] = Event.model_validate(consumer.events[1]).function_responses
    assert answers[0].response["message"] == "There is no tool named 'tol'. The tools are: other."
    assert answers[1].response == {"result": "other"}
