"""Leaving a run at every instant, in every kind of agent. J6."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rxagent import AgentTool, App, ResumabilityConfig, Runner
from rxagent.agents import BaseAgent, LoopAgent, ParallelAgent, SequentialAgent
from rxagent.events import Content, Event, FunctionCall, Part, ToolConfirmation
from rxagent.events.confirmation import confirmation_call
from rxagent.testing import call, cancel_everywhere
from rxagent.tools import FunctionTool

from .pausing import ASK, answer, llm


def work(step: int) -> str:
    """Work."""
    return f"done {step}"


async def wait(step: int) -> str:
    """Work on the loop, long enough to be seen at it."""
    await asyncio.sleep(0.005)
    return f"waited {step}"


def member(name: str, *more: Any) -> BaseAgent:
    return llm(name, ["I ", call("work", step=1), call("wait", step=2)], *(more or (["Done."],)), tools=[work, wait])


def sequential() -> BaseAgent:
    return SequentialAgent(name="flow", sub_agents=[member("a"), member("b")])


def parallel() -> BaseAgent:
    return ParallelAgent(name="both", sub_agents=[llm("a", [call("work", step=1)], ["A."], tools=[work])])


def loop() -> BaseAgent:
    turns = [[call("work", step=1)], ["1"], [call("work", step=2)], ["2"]]
    return LoopAgent(name="loop", max_iterations=2, sub_agents=[llm("a", *turns, tools=[work])])


def transfer() -> BaseAgent:
    pet = member("pet")
    kid = llm("kid", [call("transfer_to_agent", agent_name="pet")], sub_agents=[pet])
    return llm("root", ["Hm. ", call("transfer_to_agent", agent_name="kid")], sub_agents=[kid])


def agent_tool() -> BaseAgent:
    helper = llm("helper", [call("work", step=1)], ["Helped."], tools=[work])
    return llm("root", [call("helper", request="Help")], ["Done."], tools=[AgentTool(helper)])


def nested() -> BaseAgent:
    """Sequential in loop in parallel (one branch each time: where two branches meet is chance)."""
    helper = llm("helper", ["Helped."])
    turns = [[call("helper", request="Help")], ["X."], [call("work", step=1)], ["X."]]
    inner = llm("x", *turns, tools=[AgentTool(helper), work])
    rounds = LoopAgent(
        name="loop",
        max_iterations=2,
        sub_agents=[SequentialAgent(name="flow", sub_agents=[inner, llm("y", ["Y."], ["Y."])])],
    )
    return ParallelAgent(name="both", sub_agents=[rounds])


def everywhere(make: Callable[[], BaseAgent], resumable: bool, message: Any = "Hi", **options: Any) -> None:
    config = ResumabilityConfig(resumable=resumable)
    report = cancel_everywhere(
        lambda: Runner(app=App("app", make(), resumability_config=config)),
        message,
        how=("dispose", "abort"),
        **options,
    )
    assert len(report.points) > 10


MAKERS = [
    pytest.param(maker, marks=pytest.mark.promise("J6", maker.__name__), id=maker.__name__)
    for maker in (sequential, parallel, loop, transfer, agent_tool)
]


@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
@pytest.mark.parametrize("make", MAKERS)
def test_left_everywhere(make: Callable[[], BaseAgent], resumable: bool) -> None:
    """At every instant of the run a dispose stops it there, and the next message works."""
    everywhere(make, resumable)


@pytest.mark.promise("J6", "parallel")
@pytest.mark.promise("J6", "loop")
@pytest.mark.promise("J6", "sequential")
@pytest.mark.promise("J6", "agent_tool")
@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
def test_sequential_in_loop_in_parallel(resumable: bool) -> None:
    """The same for a sequence in a loop in a parallel agent, with an agent as a tool inside."""
    everywhere(nested, resumable)


def asking() -> BaseAgent:
    tool = FunctionTool(work, require_confirmation=True)
    return llm("a", [call("work", step=1), call("ask", question="?")], ["Asked."], tools=[tool, ASK])


@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
def test_a_run_that_asks(resumable: bool) -> None:
    """A run that asks for a confirmation and starts something long-running is left everywhere."""
    everywhere(asking, resumable)


def paused(branch: str | None = None) -> list[Event]:
    """The log of a paused invocation in a sequence: a question about a call of `work` by b."""
    made = FunctionCall(id="c1", name="work", args={"step": 1})
    question = confirmation_call("q1", made, ToolConfirmation(hint="ok?"))

    def event(author: str, *parts: Part, **more: Any) -> Event:
        content = Content(role="user" if author == "user" else "model", parts=parts) if parts else None
        return Event(invocation_id="e-1", author=author, content=content, **more)

    return [
        event("user", Part(text="Go")),
        event("flow", actions={"agent_state": {"current_sub_agent": "b"}}),
        event("b", Part(function_call=made)),
        event("b", question, long_running_tool_ids=frozenset(["q1"])),
        event(
            "b",
            *(answer("c1", {"error": "asked"}, name="work").parts or ()),
            actions={"requested_tool_confirmations": {"c1": ToolConfirmation(hint="ok?")}},
        ),
    ]


def resumed() -> BaseAgent:
    tool = FunctionTool(work, require_confirmation=True)
    return SequentialAgent(
        name="flow", sub_agents=[llm("a"), llm("b", ["B ", "done."], tools=[tool]), llm("c", ["C."])]
    )


def test_a_resumed_run() -> None:
    """A run that an approval has resumed is left everywhere, also while the approved tool runs."""
    approval = answer("q1", {"confirmed": True}, name="adk_request_confirmation")
    everywhere(resumed, True, approval, events=paused())
