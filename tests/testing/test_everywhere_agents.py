"""Agents of every kind can be left, and stopped from outside, at every instant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rxagent.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from rxagent.invocation import RunConfig
from rxagent.runner import AgentTool, Runner
from rxagent.testing import ScriptedModel, call, cancel_everywhere
from rxagent.testing.scripted_model import Turn
from rxagent.testing.stops import How
from rxagent.tools import exit_loop

from .scenarios import coroutine, plain, single
from .test_everywhere_callbacks import in_a_coroutine, plainly, plugin_of, writes

TOOLS = [plain, coroutine, single]


def speaker(name: str, *turns: Turn, **more: Any) -> LlmAgent:
    """Looks with one tool, and then says its name; or does as the turns say."""
    script: tuple[Turn, ...] = turns or (["hm ", call("coroutine", step=1, part=name)], ["I am ", name])
    tools = [*TOOLS, *more.pop("tools", ())]
    return LlmAgent(name=name, model=ScriptedModel(*script), tools=tools, **more)


def sequence() -> BaseAgent:
    return SequentialAgent(name="root", sub_agents=[speaker("one"), speaker("two"), speaker("three")])


def parallel() -> BaseAgent:
    return ParallelAgent(name="root", sub_agents=[speaker("one"), speaker("two")])


def loop() -> BaseAgent:
    left = speaker("one", [call("plain", step=1, part="a")], ["And ", "on."], [call("exit_loop")], tools=[exit_loop])
    return LoopAgent(name="root", sub_agents=[left, speaker("two")], max_iterations=3)


def transfer() -> BaseAgent:
    asked = [call("plain", step=1, part="a"), call("transfer_to_agent", agent_name="two")]
    return speaker("root", ["look ", *asked], sub_agents=[speaker("two")])


def agent_tool() -> BaseAgent:
    helper = AgentTool(speaker("helper"))
    asked = [call("helper", request="Help"), call("coroutine", step=1, part="a")]
    return speaker("root", ["look ", *asked], ["all ", "done"], tools=[helper])


def nested() -> BaseAgent:
    return SequentialAgent(name="root", sub_agents=[ParallelAgent(name="both", sub_agents=[speaker("one"), loop_of()])])


def loop_of() -> BaseAgent:
    return LoopAgent(name="again", sub_agents=[speaker("two")], max_iterations=1)


KINDS: dict[str, tuple[Callable[[], BaseAgent], str]] = {
    "sequential": (sequence, "agent three 1 ends"),
    "parallel": (parallel, "agent two 1 ends"),
    "loop": (loop, "tool exit_loop 1 over"),
    "transfer": (transfer, "agent two 1 ends"),
    "agent_tool": (agent_tool, "tool helper 1 over"),
}


def marked(kinds: dict[str, Any]) -> list[Any]:
    """Each kind, with the promises that it shows."""
    return [
        pytest.param(*values, id=kind, marks=[pytest.mark.promise("J6", kind), pytest.mark.promise("J12")])
        for kind, values in kinds.items()
    ]


@pytest.mark.promise("A2")
@pytest.mark.promise("A4")
@pytest.mark.promise("A6")
@pytest.mark.promise("A7")
@pytest.mark.promise("A12")
@pytest.mark.parametrize("how", ["dispose", "abort"])
@pytest.mark.parametrize(("make", "reached"), marked(KINDS))
def test_agents_of_every_kind(make: Callable[[], BaseAgent], reached: str, how: How) -> None:
    """Sub-agents in sequence, in parallel, in a loop, handed over to, and as a tool: stopped at every instant."""
    report = cancel_everywhere(lambda: Runner(make()), "Go", how=(how,))
    assert reached in report.points


@pytest.mark.promise("A2")
@pytest.mark.promise("A4")
@pytest.mark.parametrize("how", ["dispose", "abort"])
def test_nested(how: How) -> None:
    """A loop in a parallel agent in a sequence, whose tools run on workers of their own."""
    config = RunConfig(streaming_mode="sse", tool_execution_mode="parallel_subscribe")
    cancel_everywhere(lambda: Runner(nested()), "Go", how=(how,), run_config=config)


@pytest.mark.promise("A2")
@pytest.mark.promise("A4")
@pytest.mark.parametrize("how", ["dispose", "abort"])
@pytest.mark.parametrize("form", [plainly, in_a_coroutine])
@pytest.mark.parametrize("make", [sequence, parallel, loop, transfer, agent_tool])
def test_with_hooks(make: Callable[[], BaseAgent], form: Callable[..., Any], how: How) -> None:
    """The same with a plugin on all hooks, and agent callbacks that write state."""

    def runner() -> Runner:
        root = make()
        for agent in (root, *root.sub_agents):
            agent.before_agent_callbacks = (form(writes("before")),)
            agent.after_agent_callbacks = (form(writes("after")),)
        return Runner(root, plugins=[plugin_of(form)])

    cancel_everywhere(runner, "Go", how=(how,))
