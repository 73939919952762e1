"""The request of a model turn: what stands in it, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rxagent.agents import LlmAgent
from rxagent.invocation import RunConfig
from rxagent.models import GenerateContentConfig
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel, call
from rxagent.testing.scripted_model import RecordedRequest
from rxagent.tools import BaseToolset, FunctionTool


def one() -> None:
    """A tool."""


def two() -> None:
    """A tool."""


def fail() -> None:
    """A tool that must not run."""
    raise AssertionError


def answer() -> int:
    """A tool."""
    return 42


class Set(BaseToolset):
    """A toolset of one tool."""

    def get_tools(self, ctx: Any = None) -> Iterable[Any]:
        return [FunctionTool(two)]


def asked(run_config: RunConfig | None = None, **agent: Any) -> RecordedRequest:
    """The request of one run."""
    model = ScriptedModel("ok", model="gemini-2.0-flash")
    list(Runner(LlmAgent(name="root", model=model, **agent)).run("me", "s", "hi", run_config))
    (request,) = model.requests
    return request


def test_the_order_of_the_instructions() -> None:
    """How to give the shape of the answer, the global instruction, the own one, who the agent is: in ADK's order."""
    request = asked(
        instruction="Own.", global_instruction="Global.", description="Boss.", output_schema=dict[str, int], tools=[one]
    )
    pieces = request.system_instruction.split("\n\n")
    assert pieces[0].startswith("IMPORTANT: You have access to other tools")
    assert pieces[1:] == [
        "Global.",
        "Own.",
        'You are an agent. Your internal name is "root". The description about you is "Boss.".',
    ]


def test_the_order_of_the_tools() -> None:
    """The tool for the answer's shape, then the agent's tools, a toolset's in its place."""
    assert asked(output_schema=dict[str, int], tools=[Set(), one]).tools == ("set_model_response", "two", "one")


def test_contents_and_config() -> None:
    """The conversation and the agent's own config are in it."""
    request = asked(generate_content_config=GenerateContentConfig(seed=7))
    assert [content.text for content in request.contents] == ["hi"]
    assert request.config.seed == 7


def test_tools_of_the_run() -> None:
    """They stand behind the agent's, a toolset's among them; a name that the agent has taken stays with its tool."""
    config = RunConfig(tools=(FunctionTool(two, name="one", description="Not this one."), Set()))
    request = asked(config, tools=[one], output_schema=dict[str, int])
    assert request.tools == ("set_model_response", "one", "two")
    assert asked(config).tools == ("one", "two")
    model = ScriptedModel(call("one"), "ok")
    agent = LlmAgent(name="root", model=model, tools=[one])
    list(Runner(agent).run("me", "s", "hi", RunConfig(tools=(FunctionTool(fail, name="one"),))))
    response = model.requests[1].contents[-1].parts[0].function_response  # type: ignore[index]
    assert response is not None
    assert response.response == {}


def test_a_tool_of_the_run_is_called() -> None:
    """Also when the agent itself has none; another run does not have it."""
    model = ScriptedModel(call("answer"), "ok", call("answer"), "ok")
    runner = Runner(LlmAgent(name="root", model=model))
    list(runner.run("me", "s", "hi", RunConfig(tools=(answer,))))
    list(runner.run("me", "s", "hi"))
    results = [model.requests[at].contents[-1].parts[0].function_response for at in (1, 3)]  # type: ignore[index]
    assert results[0] is not None
    assert results[0].response == {"result": 42}
    assert "There is no tool named" in str(results[1])


def test_instructions_of_the_run() -> None:
    """They come last, as they are, without looking for placeholders; they are nowhere in the session."""
    config = RunConfig(instructions=("Look at {this}.", "And that."))
    assert asked(config, instruction="Own.").system_instruction.split("\n\n")[1:] == [
        'You are an agent. Your internal name is "root".',
        "Look at {this}.",
        "And that.",
    ]
