"""`ctx.end_invocation = True`: the run ends from the inside, after the current step, as completed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from rxagent.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from rxagent.events import Content
from rxagent.invocation import RunConfig
from rxagent.models import BaseLlm, LlmResponse
from rxagent.plugins import BasePlugin
from rxagent.runner import Runner
from rxagent.streams import Single
from rxagent.testing.scripted_model import ScriptedModel, call
from rxagent.tools import BaseTool
from tests.runner.driving import APP, USER, Consumer, Ends, log, said

from .desk import MODES
from .pausing import app_runner, llm, marks
from .pausing import run as run_of

Setter = Callable[..., Any]


def the_context(args: tuple[Any, ...]) -> Any:
    return next(arg for arg in args if hasattr(arg, "end_invocation"))


def plainly(*args: Any) -> None:
    the_context(args).end_invocation = True


async def in_a_coroutine(*args: Any) -> None:
    the_context(args).end_invocation = True


def in_a_single(*args: Any) -> Single[None]:
    return Single.from_callable(lambda: plainly(*args))


KINDS: list[Any] = [plainly, in_a_coroutine, in_a_single]


def work(tool_context: Any) -> str:
    """Work."""
    return "done"


def broken() -> Single[str]:
    """Fail."""
    return Single.error(ValueError("broken"))


def rescue(tool: BaseTool, args: dict[str, Any], ctx: Any, error: Exception) -> dict[str, Any]:
    return {"instead": str(error)}


class Recorder(BasePlugin):
    """Notes the hooks of a run, in order."""

    def __init__(self) -> None:
        super().__init__("recorder")
        self.steps: list[str] = []

    def before_agent_callback(self, ctx: Any) -> None:
        self.steps.append(f"before {ctx.agent_name}")

    def after_agent_callback(self, ctx: Any) -> None:
        self.steps.append(f"after {ctx.agent_name}")

    def before_model_callback(self, ctx: Any, llm_request: Any) -> None:
        self.steps.append("model")


class World:
    """A sequence of two agents: the first calls a tool that works, and one that fails and is rescued."""

    def __init__(self, *plugins: BasePlugin, model: BaseLlm | None = None, **callbacks: Any) -> None:
        self.model = model or ScriptedModel([call("work"), call("broken")], "never")
        self.other = ScriptedModel("never")
        self.ends, self.recorder = Ends(), Recorder()
        rescues = callbacks.pop("on_tool_error_callback", [])
        self.first: BaseAgent = LlmAgent(
            name="first",
            model=self.model,
            tools=[work, broken],
            on_tool_error_callback=[*rescues, rescue],
            **callbacks,
        )
        second = LlmAgent(name="second", model=self.other)
        agent = SequentialAgent(name="both", sub_agents=[self.first, second])
        self.runner = Runner(agent, app_name=APP, plugins=[self.recorder, self.ends, *plugins])

    def run(self, config: RunConfig | None = None) -> list[str]:
        """The events of a run that ends from the inside: what is so each time is looked at here."""
        consumer = Consumer().of(self.runner.run_async(USER, "s", "Hi", config)).wait()
        assert consumer.ends == ["completed"]
        outcome = self.ends.next()
        assert (outcome.kind, outcome.reason, len(self.ends.after_run)) == ("completed", "end_invocation", 1)
        assert said(log(self.runner)) == ["user: Hi", *said(consumer.events)]
        assert "before second" not in self.recorder.steps
        assert self.recorder.steps[-1] == "after both"
        assert self.other.calls == []
        return said(consumer.events)


STEP = ["first: call(work) call(broken)", "first: response(work) response(broken)"]


@pytest.mark.promise("A11")
@pytest.mark.parametrize("tool_mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hook", ["before_model", "after_model", "before_tool", "after_tool", "on_tool_error"])
def test_in_a_step(hook: str, kind: Setter, tool_mode: Any) -> None:
    """Set in a callback within a step, also before the model is called, the step goes on to its tool responses; then
    after-agent of the agents that were entered runs, and no other agent starts."""
    given: Any = [kind] if hook == "on_tool_error" else kind
    world = World(**{f"{hook}_callback": given})
    assert world.run(RunConfig(tool_execution_mode=tool_mode)) == STEP
    assert world.recorder.steps == ["before both", "before first", "model", "after first", "after both"]


@pytest.mark.promise("A11")
@pytest.mark.parametrize("tool_mode", MODES)
@pytest.mark.parametrize("kind", ["plain", "coroutine", "single"])
def test_in_a_tool(kind: str, tool_mode: Any) -> None:
    """Set in a tool of each kind, the calls beside it are answered, too, and the model is not called again."""
    set_by = dict(zip(["plain", "coroutine", "single"], KINDS, strict=True))[kind]

    def ending(tool_context: Any) -> Any:
        """End the run."""
        return set_by(tool_context)

    async def ending_later(tool_context: Any) -> Any:
        """End the run."""
        await set_by(tool_context)

    tool = ending_later if kind == "coroutine" else ending
    model = ScriptedModel([call(tool.__name__), call("work")], "never")
    world = World(model=model)
    world.first.tools = (*LlmAgent(name="x", tools=[tool]).tools, *world.first.tools)  # type: ignore[attr-defined]
    name = tool.__name__
    expected = [f"first: call({name}) call(work)", f"first: response({name}) response(work)"]
    assert world.run(RunConfig(tool_execution_mode=tool_mode)) == expected
    assert len(model.calls) == 1


@pytest.mark.promise("A11")
@pytest.mark.parametrize("kind", KINDS)
def test_when_the_model_fails(kind: Setter) -> None:
    """Set in an on-model-error callback, the answer in the error's place is the last."""

    def answer(ctx: Any, request: Any, error: Exception) -> Any:
        return LlmResponse(content=Content.model("Sorry."))

    world = World(model=ScriptedModel(ValueError("down")), on_model_error_callback=[kind, answer])
    assert world.run() == ["first: Sorry."]


@pytest.mark.promise("A11")
@pytest.mark.parametrize("kind", KINDS)
def test_before_the_agent(kind: Setter) -> None:
    """Set in before-agent, no step begins; after-agent runs."""
    world = World(before_agent_callback=kind)
    assert world.run() == []
    assert world.recorder.steps == ["before both", "before first", "after first", "after both"]
    assert world.model.calls == []  # type: ignore[attr-defined]


@pytest.mark.promise("A11")
def test_before_the_agent_with_state() -> None:
    """Set in before-agent beside written state, that agent's after-agent is skipped, too, as ADK Java does it."""

    def before(ctx: Any) -> None:
        ctx.end_invocation = True
        ctx.state["k"] = 1

    world = World(before_agent_callback=before)
    assert world.run() == ["first: "]
    assert log(world.runner)[-1].actions.state_delta == {"k": 1}
    assert world.recorder.steps == ["before both", "before first", "after both"]


@pytest.mark.promise("A11")
def test_before_the_agent_with_content() -> None:
    """Set in before-agent beside an answer, the answer is the run's last event."""

    def before(ctx: Any) -> str:
        ctx.end_invocation = True
        return "Enough."

    assert World(before_agent_callback=before).run() == ["first: Enough."]


@pytest.mark.promise("A11")
@pytest.mark.parametrize("kind", KINDS)
def test_after_the_agent(kind: Setter) -> None:
    """Set in after-agent, no other agent starts."""
    world = World(model=ScriptedModel("Hello."), after_agent_callback=kind)
    assert world.run() == ["first: Hello."]


class Sets(BasePlugin):
    """A plugin that ends the run in one of its hooks."""

    def __init__(self, hook: str, kind: Setter) -> None:
        super().__init__("sets")
        setattr(self, hook, kind)


@pytest.mark.promise("A11")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        ("before_agent_callback", []),
        ("before_model_callback", STEP),
        ("after_model_callback", STEP),
        ("before_tool_callback", STEP),
        ("after_tool_callback", STEP),
        ("on_tool_error_callback", STEP),
        ("on_event_callback", STEP),
    ],
)
def test_in_a_plugin(hook: str, expected: list[str], kind: Setter) -> None:
    """Set in a plugin's hook, it is the same."""
    world = World(Sets(hook, kind))
    assert world.run() == expected


@pytest.mark.promise("A11")
@pytest.mark.parametrize("hook", ["on_user_message_callback", "before_run_callback"])
@pytest.mark.parametrize("kind", KINDS)
def test_before_the_run(hook: str, kind: Setter) -> None:
    """Set before any agent has begun, none begins: the message is stored, after-run runs, the outcome is completed."""
    world = World(Sets(hook, kind))
    consumer = Consumer().of(world.runner.run_async(USER, "s", "Hi")).wait()
    assert (consumer.events, consumer.ends) == ([], ["completed"])
    assert said(log(world.runner)) == ["user: Hi"]
    assert world.recorder.steps == []
    outcome = world.ends.next()
    assert (outcome.kind, outcome.reason, len(world.ends.after_run)) == ("completed", "end_invocation", 1)


@pytest.mark.promise("A11")
def test_the_next_run_is_another() -> None:
    """The mark ends with its run: the next message on the session runs as ever."""

    def once(ctx: Any) -> None:
        if not ctx.session.events[1:]:
            ctx.end_invocation = True

    world = World(model=ScriptedModel("Hello."), before_agent_callback=once)
    assert world.run() == []
    assert said(world.runner.run(USER, "s", "Again"))[0] == "first: Hello."


@pytest.mark.promise("A11")
@pytest.mark.parametrize(
    ("make", "start"),
    [
        (SequentialAgent, "flow -> first"),
        (partial(LoopAgent, max_iterations=2), "flow -> first 0"),
        (partial(ParallelAgent, scheduler="caller"), "flow {}"),
    ],
    ids=["sequential", "loop", "parallel"],
)
def test_in_a_resumable_app(make: Callable[..., BaseAgent], start: str) -> None:
    """The agent behind the one that ended the run gets neither a checkpoint nor an end marker, as it never began."""

    def ending(tool_context: Any) -> str:
        """End the run."""
        plainly(tool_context)
        return "enough"

    flow = make(name="flow", sub_agents=[llm("first", [call("ending")], tools=[ending]), llm("second", ["never"])])
    step = ["first: call(ending)", "first: response(ending)"]
    assert marks(run_of(app_runner(flow), "Go")) == [start, *step, "first end", "flow end"]
