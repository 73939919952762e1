"""AgentTool: an agent that another one calls."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from pydantic import BaseModel

from rxagent import AgentTool, BasePlugin, CallbackContext, LlmAgent, Runner, SequentialAgent
from rxagent.agents import BaseAgent
from rxagent.events import Event
from rxagent.models import LlmResponse
from rxagent.testing import ScriptedModel, call


class Order(BaseModel):
    """An order."""

    city: str
    count: int = 1


def caller(helper: BaseAgent, *, args: dict[str, Any] | None = None, **more: bool) -> LlmAgent:
    wish = call(helper.name, **({"request": "Help!"} if args is None else args))
    return LlmAgent(name="boss", model=ScriptedModel([wish], "thanks"), tools=[AgentTool(helper, **more)])


def result(agent: LlmAgent) -> dict[str, Any] | None:
    """The response to the call."""
    with Runner(agent) as runner:
        events = list(runner.run("me", "s", "go"))
    return events[1].function_responses[0].response


def test_its_last_text_is_the_result() -> None:
    """The helper gets the request, and its last text is the result; its events are not emitted."""
    model = ScriptedModel("helped")
    agent = caller(LlmAgent(name="helper", model=model, description="Helps."))
    with Runner(agent) as runner:
        events = list(runner.run("me", "s", "go"))
    assert [event.author for event in events] == ["boss", "boss", "boss"]
    assert events[1].function_responses[0].response == {"result": "helped"}
    assert model.calls[0].request.contents[-1].text == "Help!"


def test_declarations() -> None:
    """The model is told of a text `request`, or of the input schema of the first agent that asks a model."""
    plain = AgentTool(LlmAgent(name="helper", description="Helps.")).declaration()
    assert (plain.name, plain.description, (plain.parameters or {})["required"]) == ("helper", "Helps.", ["request"])
    inner = LlmAgent(name="first", input_schema=Order)
    shaped = AgentTool(SequentialAgent(name="pipe", sub_agents=[inner])).declaration()
    assert set((shaped.parameters or {})["properties"]) == {"city", "count"}


def test_arguments_of_a_schema() -> None:
    """Arguments that fit are sent as JSON with their defaults; others are an error result that the model can read."""
    model = ScriptedModel("ok")
    assert result(caller(LlmAgent(name="helper", model=model, input_schema=Order), args={"city": "Oslo"})) == {
        "result": "ok"
    }
    assert model.calls[0].request.contents[-1].text == '{"city":"Oslo","count":1}'
    helper = LlmAgent(name="helper", model=ScriptedModel(), input_schema=Order)
    wrong = result(caller(helper, args={"count": 2}))
    assert wrong is not None
    assert wrong["status"] == "error"
    assert "city" in wrong["message"]


def test_schemas_of_a_workflow() -> None:
    """Of a workflow the first agent's input schema is that of the arguments, the last one's output schema shapes the
    result."""
    model, answer = ScriptedModel("ok"), ScriptedModel('{"a": 1}')
    first = LlmAgent(name="first", model=model, input_schema=Order, output_schema=list[int])
    last = LlmAgent(name="last", model=answer, output_schema=dict[str, int])
    pipe = SequentialAgent(name="pipe", sub_agents=[first, last])
    assert result(caller(pipe, args={"city": "Oslo"})) == {"a": 1}
    assert model.calls[0].request.contents[-1].text == '{"city":"Oslo","count":1}'


def test_a_missing_request() -> None:
    """Without the argument the helper is not asked."""
    wrong = result(caller(LlmAgent(name="helper", model=ScriptedModel()), args={}))
    assert wrong is not None
    assert "'request' is missing" in wrong["message"]


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [(dict[str, int], '{"a": 1}', {"a": 1}), (list[int], "[1]", {"result": [1]})],
    ids=["object", "list"],
)
def test_the_shape_of_the_result(schema: Any, text: str, expected: dict[str, Any]) -> None:
    """With an output schema the text is parsed by it; what is no object stands under `result`."""
    helper = LlmAgent(name="helper", model=ScriptedModel(text), output_schema=schema)
    assert result(caller(helper)) == expected


def test_no_text() -> None:
    """A helper that ends without a word gives an empty text, whatever it said before a call; one that only wrote state
    or failed, an empty result."""
    helper = LlmAgent(name="helper", model=ScriptedModel(["Wait.", call("silent")]), tools=[silent], max_steps=1)
    assert result(caller(helper)) == {"result": ""}
    refused = LlmResponse(error_code="BLOCKED")
    helper = LlmAgent(name="helper", model=ScriptedModel("Never."), before_model_callback=lambda *_: refused)
    assert result(caller(helper)) == {}


def silent() -> None:
    """Say nothing."""


def test_state_goes_in_and_out() -> None:
    """The helper sees a copy of the caller's state, and what it writes is written to the caller's."""

    def move(ctx: CallbackContext) -> None:
        ctx.state["out"] = ctx.state["in"] + 1

    helper = LlmAgent(name="helper", model=ScriptedModel("ok"), before_agent_callback=move)
    with Runner(caller(helper)) as runner:
        list(runner.run("me", "s", "go", state_delta={"in": 1}))
        session: Any = runner.session_service.get_session(runner.app_name, "me", "s")
    assert session.state["out"] == 2


def test_state_that_the_helper_removes() -> None:
    """A key that the helper removes from its state is removed from the caller's, too."""

    def remove(ctx: CallbackContext) -> None:
        del ctx.state["in"]

    helper = LlmAgent(name="helper", model=ScriptedModel("ok"), before_agent_callback=remove)
    with Runner(caller(helper)) as runner:
        list(runner.run("me", "s", "go", state_delta={"in": 1, "kept": 2}))
        session: Any = runner.session_service.get_session(runner.app_name, "me", "s")
    assert session.state == {"kept": 2}


def test_skip_summarization() -> None:
    """With skip_summarization the result ends the caller's turn."""
    agent = caller(LlmAgent(name="helper", model=ScriptedModel("ok")), skip_summarization=True)
    with Runner(agent) as runner:
        events = list(runner.run("me", "s", "go"))
    assert len(events) == 2
    assert events[1].actions.skip_summarization


@pytest.mark.parametrize("options", [{"include_plugins": True}, {"include_plugins": False}, {}], ids=str)
def test_the_callers_plugins(options: dict[str, Any]) -> None:
    """They see the inner run when they are asked to, and not otherwise."""
    seen: list[str | None] = []

    class Noting(BasePlugin):
        def on_event_callback(self, ctx: Any, event: Event) -> None:
            seen.append(event.author)

    agent = caller(LlmAgent(name="helper", model=ScriptedModel("ok")), **options)
    with Runner(agent, plugins=[Noting("noting")]) as runner:
        list(runner.run("me", "s", "go"))
    assert ("helper" in seen) == options.get("include_plugins", False)


@pytest.mark.promise("J3")
def test_leaving_the_caller_leaves_the_helper() -> None:
    """A dispose of the outer run stops the inner model call."""
    asked, left = threading.Event(), threading.Event()

    def wait(scope: Any) -> None:
        scope.on_cancel(left.set)
        asked.set()
        scope.sleep(60)

    with Runner(caller(LlmAgent(name="helper", model=ScriptedModel([wait])))) as runner:
        run = runner.start("me", "s", "go")
        assert asked.wait(5)
        run.dispose()
        assert left.wait(5)
        outcome = run.wait(5)
    assert outcome is not None
    assert outcome.kind == "disposed"
