"""A stop reaches a running model call at any depth at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

import pytest

from rxagent.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from rxagent.runner import AgentTool, RunHandle, Runner
from rxagent.streams import CancelScope
from rxagent.testing import ScriptedModel, call

AT_ONCE = 0.05
"""Seconds; the best of a few tries, as others may have the processor."""


class Silence:
    """A model that never answers, and tells when its call was stopped, by the clock."""

    def __init__(self) -> None:
        self.called = threading.Event()
        self.stopped: SimpleQueue[float] = SimpleQueue()

    def agent(self, name: str = "deep") -> LlmAgent:
        return LlmAgent(name=name, model=ScriptedModel(self._wait))

    def _wait(self, scope: CancelScope) -> None:
        self.called.set()
        try:
            scope.sleep(60)
        finally:
            self.stopped.put(time.perf_counter())


def hands_over(name: str, to: BaseAgent) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel([call("transfer_to_agent", agent_name=to.name)]), sub_agents=[to])


def calls_it(name: str, helper: BaseAgent) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel([call(helper.name, request="Go")]), tools=[AgentTool(helper)])


def workflow(deep: LlmAgent) -> BaseAgent:
    """Sequential in loop in parallel, three times over."""
    agent: BaseAgent = deep
    for level in range(3):
        agent = SequentialAgent(name=f"s{level}", sub_agents=[agent])
        agent = LoopAgent(name=f"l{level}", sub_agents=[agent])
        agent = ParallelAgent(name=f"p{level}", sub_agents=[agent, Silence().agent(f"beside{level}")])
    return agent


def transfers(deep: LlmAgent) -> BaseAgent:
    """Ten hand-overs."""
    agent = deep
    for level in range(10):
        agent = hands_over(f"h{level}", agent)
    return agent


def agent_tools(deep: LlmAgent) -> BaseAgent:
    """Five runs inside of each other."""
    agent = deep
    for level in range(5):
        agent = calls_it(f"t{level}", agent)
    return agent


def all_of_them(deep: LlmAgent) -> BaseAgent:
    """A hand-over to a workflow that calls an agent as a tool."""
    return hands_over(
        "root", LoopAgent(name="loop", sub_agents=[ParallelAgent(name="p", sub_agents=[agent_tools(deep)])])
    )


@pytest.mark.promise("A3", "sub_agent")
@pytest.mark.parametrize("stop", [RunHandle.dispose, RunHandle.abort], ids=["dispose", "abort"])
@pytest.mark.parametrize("make", [workflow, transfers, agent_tools, all_of_them])
def test_a_model_call_is_stopped_at_once(
    make: Callable[[LlmAgent], BaseAgent], stop: Callable[[RunHandle], None]
) -> None:
    """The deepest model call ends within 50 ms of the stop, and the run with it."""
    took: list[float] = []
    while len(took) < 5 and not (took and min(took) < AT_ONCE):
        silence = Silence()
        with Runner(make(silence.agent())) as runner, runner.start("me", "s", "Go") as run:
            assert silence.called.wait(10)
            began = time.perf_counter()
            stop(run)
            took.append(silence.stopped.get(timeout=10) - began)
            assert run.wait(10) is not None
    assert min(took) < AT_ONCE
