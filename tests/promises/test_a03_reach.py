"""The signal reaches whatever runs: agents of every kind, agents as tools, tools; so do dispose and deadline."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from rxagent.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from rxagent.invocation import AbortSignal, RunConfig, ToolContext
from rxagent.models import ChatCompletions
from rxagent.runner import AgentTool, Runner
from rxagent.testing.chat_server import ChatServer, stall
from rxagent.testing.scripted_model import ScriptedModel, call, pause
from tests.runner.driving import APP, SSE, USER, Consumer, Ends, log

from .stopping import aborted

AT_ONCE = 1.0
"""Seconds that no stop takes; the work it stops takes a minute."""
WAYS = ["abort", "dispose", "deadline"]


def over(model: Any, **more: Any) -> dict[str, Callable[[], BaseAgent]]:
    """Trees of each kind with this model's agent at the end of them."""

    def member(name: str = "inner") -> LlmAgent:
        return LlmAgent(name=name, model=model, **more)

    def first() -> LlmAgent:
        return LlmAgent(name="first", model=ScriptedModel("Done."))

    def handing_over() -> BaseAgent:
        asks = ScriptedModel([call("transfer_to_agent", agent_name="inner")])
        return LlmAgent(name="root", model=asks, sub_agents=[member()])

    def with_agent_tool() -> BaseAgent:
        return LlmAgent(name="root", model=ScriptedModel([call("inner", request="Go")]), tools=[AgentTool(member())])

    def three_deep() -> BaseAgent:
        middle = LlmAgent(
            name="middle", model=ScriptedModel([call("inner", request="Go")]), tools=[AgentTool(member())]
        )
        return LlmAgent(name="root", model=ScriptedModel([call("middle", request="Go")]), tools=[AgentTool(middle)])

    return {
        "sub_agent": handing_over,
        "sequential": lambda: SequentialAgent(name="root", sub_agents=[first(), member()]),
        "parallel": lambda: ParallelAgent(name="root", sub_agents=[first(), member()]),
        "loop": lambda: LoopAgent(name="root", sub_agents=[first(), member()]),
        "agent_tool": with_agent_tool,
        "three_deep": three_deep,
    }


def kinds() -> list[Any]:
    """Each kind of tree, marked with the part of the promise that it shows."""
    part = {"three_deep": "agent_tool"}
    return [pytest.param(kind, marks=pytest.mark.promise("A3", part.get(kind, kind))) for kind in over(None)]


class Running:
    """A run that is stopped one way or another."""

    def __init__(self, agent: BaseAgent, way: str, entered: Callable[[], object]) -> None:
        self.ends, self.way = Ends(), way
        self.runner = Runner(agent, app_name=APP, plugins=[self.ends])
        config = RunConfig(streaming_mode="sse", timeout=0.3 if way == "deadline" else None, cancel_grace_period=5)
        signal = AbortSignal()
        self.consumer = Consumer().of(self.runner.run_async(USER, "s", "Hi", config, abort_signal=signal))
        entered()
        self.stopped = time.monotonic()
        if way == "abort":
            signal.set()
        elif way == "dispose":
            self.consumer.dispose()

    def has_ended(self) -> None:
        """As it should, and at once."""
        outcome = self.ends.next()
        took = time.monotonic() - self.stopped
        expected = {"abort": ("aborted", "user_stop"), "deadline": ("aborted", "request_timeout")}
        assert (outcome.kind, outcome.reason) == expected.get(self.way, ("disposed", None))
        assert took < AT_ONCE
        if self.way != "dispose":
            aborted(log(self.runner), outcome.reason or "")
            self.consumer.wait()
            assert self.consumer.ends == ["completed"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", kinds())
def test_a_silent_model(kind: str, way: str) -> None:
    """A model that is silent, on a real socket, inside an agent of every kind: its server sees the client go."""
    with ChatServer([["Once ", stall()]]) as server:
        model = ChatCompletions("any", base_url=server.base_url)
        running = Running(over(model)[kind](), way, lambda: server.wait_requests())
        assert server.wait_requests()[0].wait_gone() is not None
        running.has_ended()
        assert len(server.requests) == 1
        model.close()


@pytest.mark.promise("A3", "tool")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [*over(None)])
def test_a_tool_learns_of_it(kind: str, way: str) -> None:
    """In a tool of an inner agent `is_aborted` becomes true, and an `on_abort` callback runs once, however it ends."""
    entered, told, after = threading.Event(), list[str](), list[bool]()

    async def wait(tool_context: ToolContext) -> str:
        """Wait."""
        tool_context.on_abort(lambda: told.append("told"))
        assert not tool_context.is_aborted
        entered.set()
        try:
            await asyncio.sleep(60)
        finally:
            after.append(tool_context.is_aborted)
        return "never"

    running = Running(over(ScriptedModel([call("wait")]), tools=[wait])[kind](), way, lambda: entered.wait(5))
    running.has_ended()
    assert (told, after) == (["told"], [True])


@pytest.mark.promise("A3")
@pytest.mark.promise("A9")
@pytest.mark.parametrize("way", WAYS)
def test_each_place_of_a_sequence(way: str) -> None:
    """A stop acts the same in the first, the second and the third agent of a sequence."""
    entered = threading.Event()

    def work(tool_context: ToolContext) -> str:
        """Work in chunks."""
        wake = threading.Event()
        tool_context.on_abort(wake.set)
        entered.set()
        wake.wait(60)
        return "stopped between chunks"

    for place in range(3):
        entered.clear()
        members = [
            LlmAgent(name=f"a{at}", model=ScriptedModel([call("work")] if at == place else "Done."), tools=[work])
            for at in range(3)
        ]
        Running(SequentialAgent(name="root", sub_agents=members), way, lambda: entered.wait(5)).has_ended()


@pytest.mark.promise("A2")
def test_no_further_model_or_tool() -> None:
    """Stopped inside the first of three calls, one after the other: no other tool starts, no model is asked again."""
    started: list[int] = []
    signal = AbortSignal()

    def step(number: int) -> int:
        """A step."""
        started.append(number)
        signal.set()
        return number

    model = ScriptedModel([call("step", number=1), call("step", number=2), call("step", number=3)], ["Done."])
    runner = Runner(LlmAgent(name="agent", model=model, tools=[step]), app_name=APP)
    Consumer().of(runner.run_async(USER, "s", "Hi", SSE, abort_signal=signal)).wait()
    assert (started, len(model.calls)) == ([1], 1)
    last = aborted(log(runner), "user_stop")
    found = [(one.response or {}).get("status", one.response) for one in last.function_responses]
    assert found == [{"result": 1}, "never_started", "never_started"]


def test_a_paused_model_needs_no_socket() -> None:
    """A scripted model's pause is left, too, so that tests of users are as fast as the real thing."""
    ends = threading.Event()
    running = Running(LlmAgent(name="a", model=ScriptedModel(["x", pause(60)])), "abort", lambda: ends.wait(0.05))
    running.has_ended()
