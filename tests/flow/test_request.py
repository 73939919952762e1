"""The request of a model turn: what stands in it, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rxagent.agents import LlmAgent
from rxagent.models import GenerateContentConfig
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel
from rxagent.testing.scripted_model import RecordedRequest
from rxagent.tools import BaseToolset, FunctionTool


def one() -> None:
    """A tool."""


def two() -> None:
    """A tool."""


class Set(BaseToolset):
    """A toolset of one tool."""

    def get_tools(self, ctx: Any = None) -> Iterable[Any]:
        return [FunctionTool(two)]


def asked(**agent: Any) -> RecordedRequest:
    """The request of one run."""
    model = ScriptedModel("ok", model="gemini-2.0-flash")
    list(Runner(LlmAgent(name="root", model=model, **agent)).run("me", "s", "hi"))
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
