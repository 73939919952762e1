"""Instructions: placeholders, and functions that give the text."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.errors import ConfigError, InstructionError
from rxagent.events import Part
from rxagent.flow.instructions import as_text, filled
from rxagent.invocation import CallbackContext, ToolContext
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel, call

STATE = {"who": "W", "app:c": "C", "user:u": "U", "temp:t": "T", "num": 1.5, "map": {"k": [1, True]}, "no": None}
IDENTITY = 'You are an agent. Your internal name is "root".'


def fill(template: str, state: dict[str, Any] = STATE) -> str:
    return filled(template, state, lambda name: Part(text="NOTE") if name == "note.txt" else None)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("a={who}", "a=W"),
        ("{ who }{{who}}{{{who}}}", "WWW"),
        ("{app:c}{user:u}{temp:t}", "CUT"),
        ("b={missing?}|{app:missing?}|{ missing? }|", "b=|||"),
        ("{who?}", "W"),
        ("n={num} m={map}", "n=1.5 m={k=[1, true]}"),
        ("{artifact.note.txt}{artifact.none?}", '{"text":"NOTE"}'),
    ],
)
def test_what_is_filled_in(template: str, text: str) -> None:
    """Names of state and artifacts are replaced, braces and blanks around them too; a missing optional one is empty."""
    assert fill(template) == text


@pytest.mark.parametrize(
    "template",
    ["{not-a-name}", '{"k": 1}', "{}", "{ }", "{?}", "{other:who}", "{app:not-a-name}", "{a b}", "{who", "who}"],
)
def test_what_stays(template: str) -> None:
    """What is no name stays as it is."""
    assert fill(template) == template


def test_values_are_not_templates() -> None:
    """A value that looks like a placeholder is not looked at again."""
    assert fill("{a}", {"a": "{b}", "b": "B"}) == "{b}"


@pytest.mark.parametrize(
    ("template", "message"),
    [("{x}", "Context variable not found: `x`; "), ("{artifact.x.txt}", "Artifact x.txt not found; ")],
)
def test_what_is_missing(template: str, message: str) -> None:
    """A missing name is an InstructionError that says which, and how to make it optional."""
    with pytest.raises(InstructionError) as raised:
        fill(template)
    assert str(raised.value).startswith(message)
    assert "?}" in str(raised.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (None, "null"),
        ("x", "x"),
        (3, "3"),
        (["a", 2, None], "[a, 2, null]"),
        ({"a": {"b": True}}, "{a={b=true}}"),
        ({}, "{}"),
        ((1,), "[1]"),
    ],
)
def test_values_as_text(value: object, text: str) -> None:
    """Values look as ADK Java writes them, inside of lists and maps too."""
    assert as_text(value) == text


def asked(agent: LlmAgent, **options: Any) -> list[str]:
    """The system instructions of one run of this agent."""
    runner = Runner(agent)
    list(runner.run("me", "s", "hi", **options))
    model = agent.model
    assert isinstance(model, ScriptedModel)
    return [request.system_instruction for request in model.requests]


def test_global_then_own_then_identity() -> None:
    """The root's global instruction comes first, then the agent's own, then who it is; empty ones leave no gap."""
    agent = LlmAgent(name="root", model=ScriptedModel("ok"), global_instruction="G {who}.", instruction="I {who}.")
    assert asked(agent, state_delta={"who": "W"}) == [f"G W.\n\nI W.\n\n{IDENTITY}"]
    assert asked(LlmAgent(name="root", model=ScriptedModel("ok"))) == [IDENTITY]


def test_functions_are_not_filled_in() -> None:
    """What a function gives is sent as it is, also a coroutine function's; it sees the state."""

    def shared(ctx: CallbackContext) -> str:
        return f"{{who}} is {ctx.state['who']}"

    async def own(ctx: CallbackContext) -> str:
        return "{not filled}"

    agent = LlmAgent(name="root", model=ScriptedModel("ok"), global_instruction=shared, instruction=own)
    assert asked(agent, state_delta={"who": "W"}) == [f"{{who}} is W\n\n{{not filled}}\n\n{IDENTITY}"]


def test_a_function_that_gives_no_text() -> None:
    """A function may give None; anything else but a text fails the run, and says which agent it was."""
    agent = LlmAgent(name="root", model=ScriptedModel("ok"), instruction=lambda ctx: None)
    assert asked(agent) == [IDENTITY]
    with pytest.raises(ConfigError, match="instruction of agent 'root' gave a int"):
        asked(LlmAgent(name="root", model=ScriptedModel("ok"), instruction=lambda ctx: 5))


def test_a_missing_variable_fails_the_run() -> None:
    """A run whose instruction cannot be filled in fails before the model is asked."""
    model = ScriptedModel("never")
    with pytest.raises(InstructionError, match="`missing`"):
        asked(LlmAgent(name="root", model=model, instruction="{missing}"))
    assert model.requests == []


def test_artifacts_of_the_session() -> None:
    """`{artifact.NAME}` is the newest version in the session, or of the user."""
    agent = LlmAgent(name="root", model=ScriptedModel("ok"), instruction="{artifact.f}|{artifact.user:g}")
    runner = Runner(agent)
    for name, text in (("f", "old"), ("f", "new"), ("user:g", "mine")):
        runner.artifact_service.save_artifact("root", "me", "s", name, Part(text=text))
    list(runner.run("me", "s", "hi"))
    assert isinstance(agent.model, ScriptedModel)
    (request,) = agent.model.requests
    assert request.system_instruction.startswith('{"text":"new"}|{"text":"mine"}')


def test_what_a_step_wrote_is_seen_by_the_next() -> None:
    """State that a tool wrote, `temp:` keys too, is filled in from the next request on."""

    def note(tool_context: ToolContext) -> None:
        tool_context.state["x"] = 1
        tool_context.state["temp:t"] = True

    model = ScriptedModel([call("note")], "done")
    agent = LlmAgent(name="root", model=model, instruction="{x?}|{temp:t?}", tools=[note])
    assert [text.partition("\n")[0] for text in asked(agent)] == ["|", "1|true"]
