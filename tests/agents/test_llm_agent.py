"""LlmAgent: what it refuses, and its steps."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.errors import ConfigError, DuplicateToolError
from rxagent.events import Part
from rxagent.flow.output_schema import OutputSchema
from rxagent.invocation import CallbackContext
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel, call


def t() -> None:
    """A tool."""


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": 5}, "the model of agent 'a' is a int"),
        ({"max_steps": 0}, "max_steps of agent 'a' must be at least 1"),
        ({"output_schema": "x"}, "a schema is"),
        ({"input_schema": "x"}, "a schema is"),
    ],
)
def test_what_is_refused(fields: dict[str, Any], message: str) -> None:
    """What cannot work is a ConfigError where the agent is made."""
    with pytest.raises(ConfigError, match=message):
        LlmAgent(name="a", **fields)


def test_two_tools_of_one_name() -> None:
    """Two tools of one name are refused."""
    with pytest.raises(DuplicateToolError, match="two tools named 't'"):
        LlmAgent(name="a", tools=[t, t])


def test_schemas_are_kept() -> None:
    """An agent knows the shape of its answer and of its input."""
    agent = LlmAgent(name="a", input_schema={"type": "object"}, output_schema=dict[str, int])
    assert isinstance(agent.input_schema, OutputSchema)
    assert agent.input_schema.json_schema == {"type": "object"}
    assert agent.output_schema is not None
    assert agent.output_schema.given == dict[str, int]
    assert LlmAgent(name="a").output_schema is None


@pytest.mark.parametrize(("max_steps", "asked"), [(1, 1), (2, 2), (None, 3)])
def test_max_steps(max_steps: int | None, asked: int) -> None:
    """After so many model calls the turn ends, its tools answered, whatever was said last."""
    model = ScriptedModel([call("t")], [call("t")], "done")
    events = list(Runner(LlmAgent(name="a", model=model, tools=[t], max_steps=max_steps)).run("me", "s", "hi"))
    assert len(model.calls) == asked
    assert len(events) == (5 if max_steps is None else 2 * asked)


@pytest.mark.parametrize("hook", ["before_agent_callback", "after_agent_callback"])
def test_an_artifact_alone_makes_an_event(hook: str) -> None:
    """An agent callback that saves an artifact, and says nothing, leaves an event with the artifact's version."""

    def save(ctx: CallbackContext) -> None:
        ctx.save_artifact("f", Part(text="x"))

    agent = LlmAgent(name="a", model=ScriptedModel("hi"), **{hook: save})  # type: ignore[arg-type]
    events = list(Runner(agent).run("me", "s", "hi"))
    assert [event.actions.artifact_delta for event in events if event.actions.artifact_delta] == [{"f": 0}]
