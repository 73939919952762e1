"""Routing: who takes the next message."""

from __future__ import annotations

import pytest

from rxagent.agents import LlmAgent, SequentialAgent
from rxagent.agents.routing import find_agent_to_run
from rxagent.events import Content, Event, FunctionCall, FunctionResponse, Part

ANSWER = Event(
    author="user",
    content=Content(role="user", parts=(Part(function_response=FunctionResponse(id="c1", name="f", response={})),)),
)
ASKED = Event(
    author="step",
    content=Content(role="model", parts=(Part(function_call=FunctionCall(id="c1", name="f")),)),
)


def tree() -> LlmAgent:
    """root > kid > deep; root > lone, which may not hand over to its parent; root > pipe > step."""
    deep = LlmAgent(name="deep")
    return LlmAgent(
        name="root",
        sub_agents=[
            LlmAgent(name="kid", sub_agents=[deep]),
            LlmAgent(name="lone", disallow_transfer_to_parent=True),
            SequentialAgent(name="pipe", sub_agents=[LlmAgent(name="step")]),
        ],
    )


@pytest.mark.parametrize(
    ("authors", "expected"),
    [
        ([], "root"),
        (["user"], "root"),
        (["kid", "user"], "kid"),
        (["kid", "deep"], "deep"),
        (["deep", "root"], "root"),
        (["lone"], "root"),
        (["kid", "lone"], "kid"),
        (["step"], "root"),
        (["gone"], "root"),
    ],
)
def test_the_one_that_spoke_last(authors: list[str], expected: str) -> None:
    """The last speaker goes on if a message may reach it, else the one before it, else the root."""
    events = [Event(author=author, content=Content.model("x")) for author in authors]
    assert find_agent_to_run(tree(), events).name == expected


def test_an_answer_goes_to_the_one_that_asked() -> None:
    """A function response finds the agent of the call, wherever it stands and whoever spoke since."""
    later = Event(author="kid", content=Content.model("x"))
    assert find_agent_to_run(tree(), [ASKED, later, ANSWER]).name == "step"
    assert find_agent_to_run(tree(), [later, ANSWER]).name == "kid"


def test_a_tree_of_one() -> None:
    """An agent without others below it takes every message."""
    only = LlmAgent(name="root")
    assert find_agent_to_run(only, [Event(author="other", content=Content.model("x"))]) is only
