"""The id of a call: the same wherever it is seen, and unique in its session."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.events import Content, FunctionCall, Part
from rxagent.history.sealing import is_seal
from rxagent.models import ChatCompletions, LlmResponse
from rxagent.testing.chat_server import ChatServer
from rxagent.testing.scripted_model import ScriptedModel, Turn, call
from rxagent.tools import FunctionTool
from tests.runner.driving import SSE, USER, Consumer, Ends, Gate, log, put, runner_of, said


class Seen:
    """A tool that notes the id of each of its calls."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def tool(self, tool_context: Any) -> str:
        """Work."""
        self.ids.append(tool_context.function_call_id)
        return "done"


def raw(id: str | None) -> Part:
    return Part(function_call=FunctionCall(id=id, name="tool", args={}))


TWICE: list[Turn] = [raw("call_0"), "Done."] * 2


def seen_in(script: list[Any]) -> tuple[list[str], list[str], list[str], ScriptedModel]:
    """Of one run: the ids that the tool saw, those of the calls and of the responses in the log; and the model."""
    seen, model = Seen(), ScriptedModel(*script)
    runner = runner_of(model, tools=[seen.tool])
    assert Consumer().of(runner.run_async(USER, "s", "Hi")).wait().ends == ["completed"]
    events = log(runner)
    calls = [str(one.id) for event in events for one in event.function_calls]
    return seen.ids, calls, [str(one.id) for event in events for one in event.function_responses], model


@pytest.mark.promise("J21")
@pytest.mark.parametrize("given", [None, ""])
def test_empty(given: str | None) -> None:
    """A call without an id, or with an empty one, gets a fresh one when it is received; context, call, response and
    the next request show the same."""
    seen, calls, responses, model = seen_in([[raw(given), raw(given)], "Done."])
    assert seen == calls == responses
    assert len(set(seen)) == 2
    assert all(id.startswith("adk-") for id in seen)
    sent = model.requests[1].contents
    assert [part.function_call.id for part in sent[1].parts or () if part.function_call] == seen
    assert [part.function_response.id for part in sent[2].parts or () if part.function_response] == seen


@pytest.mark.promise("J21")
def test_repeated() -> None:
    """An id that occurs twice in one answer, or again in a later one, is replaced where it comes again."""
    seen, calls, responses, _ = seen_in([[raw("call_0"), raw("call_0")], raw("call_0"), raw("call_1"), "Done."])
    assert seen == calls == responses
    assert len(set(seen)) == 4
    assert [seen[0], seen[3]] == ["call_0", "call_1"]


@pytest.mark.promise("J21")
def test_repeated_in_later_runs() -> None:
    """Ids are unique in the session, not only in the run; and in what somebody else has put there."""
    seen = Seen()
    runner = runner_of(ScriptedModel(*TWICE), tools=[seen.tool])
    for _ in range(2):
        list(runner.run(USER, "s", "Hi"))
    event = log(runner)[1]
    put(runner, event.model_copy(update={"id": "e-copy", "content": Content(role="model", parts=(raw("call_7"),))}))
    runner.agent.model = ScriptedModel(raw("call_7"), "Done.")  # type: ignore[attr-defined]
    list(runner.run(USER, "s", "Hi"))
    assert len(set(seen.ids)) == 3
    assert seen.ids[0] == "call_0"
    assert seen.ids[2] != "call_7"


@pytest.mark.promise("J21")
def test_the_models_own_id() -> None:
    """An id that the session does not have yet stays as the model gave it."""
    seen, calls, _, _ = seen_in([[call.with_id("mine", "tool")], "Done."])
    assert seen == calls == ["mine"]


@pytest.mark.promise("J21")
@pytest.mark.parametrize("given", [None, "", "call_0", "new"])
def test_through_partials(given: str | None) -> None:
    """The call in assembly has one id in the partial events and in the final one, and the tool sees that."""

    def response(**fields: Any) -> LlmResponse:
        return LlmResponse(content=Content(role="model", parts=(raw(given),)), **fields)

    seen = Seen()
    script = [response(partial=True), response(partial=True), response()]
    runner = runner_of([raw("call_0"), script, "Done."], tools=[seen.tool])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE)).wait()
    shown = [one.id for event in consumer.events for one in event.function_calls]
    assert len(shown) == 4
    assert shown[0] == seen.ids[0] == "call_0"
    assert set(shown[1:]) == {seen.ids[1]}
    assert len(seen.ids) == 2


@pytest.mark.promise("J21")
def test_over_the_wire() -> None:
    """A server that numbers its calls anew in each answer is understood, and is sent pairs that it can take."""
    seen = Seen()
    turn = [FunctionCall(id="call_0", name="tool", args={})]
    with ChatServer([turn, turn, ["Done."]]) as server:
        runner = runner_of(ChatCompletions("any", base_url=server.base_url), tools=[seen.tool])
        list(runner.run(USER, "s", "Hi", SSE))
        messages = server.requests[2].json["messages"]
    asked = [one["id"] for message in messages for one in message.get("tool_calls") or ()]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert len(set(seen.ids)) == 2
    assert asked == answered
    assert len(set(asked)) == 2


@pytest.mark.promise("J21")
def test_after_a_dispose() -> None:
    """The call of a run that was left keeps its id: the next run's seal carries it, and no later call gets it."""
    gate, ends, ids = Gate(), Ends(), list[str]()

    def tool(tool_context: Any) -> str:
        """Work."""
        ids.append(tool_context.function_call_id)
        gate()
        return "done"

    runner = runner_of([raw("call_0")], tools=[tool], plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert gate.entered.wait(5)
    consumer.dispose()
    gate.opened.set()
    ends.next()
    runner.agent.model = ScriptedModel(raw("call_0"), "Done.")  # type: ignore[attr-defined]
    list(runner.run(USER, "s", "Again"))
    [seal] = [event for event in log(runner) if is_seal(event)]
    assert [one.id for one in seal.function_responses] == ["call_0"] == ids[:1]
    assert len(set(ids)) == 2


class Unrelated:
    """A type that no model can fill in."""


def hinted(city: str, tool_context: Unrelated) -> str:
    """Work."""
    return f"{city} {type(tool_context).__name__}"


def unhinted(tool_context, city: str) -> str:  # type: ignore[no-untyped-def]
    """Work."""
    return f"{city} {type(tool_context).__name__}"


async def coroutine(city: str, *, tool_context: object = None) -> str:
    """Work."""
    return f"{city} {type(tool_context).__name__}"


def otherwise(city: str, context: str = "given by the model") -> str:
    """Work."""
    return f"{city} {context}"


@pytest.mark.promise("J21")
@pytest.mark.parametrize("func", [hinted, unhinted, coroutine])
def test_tool_context(func: Any) -> None:
    """`tool_context` is bound by its name, whatever its hint and place, and is no part of the schema; what a model
    gives under that name is ignored."""
    script = [call(func.__name__, city="Oslo", tool_context="forged"), "Done."]
    consumer = Consumer().of(runner_of(script, tools=[func]).run_async(USER, "s", "Hi")).wait()
    [response] = consumer.events[1].function_responses
    assert response.response == {"result": "Oslo ToolContext"}
    declared = FunctionTool(func).declaration().parameters
    assert declared is not None
    assert list(declared["properties"]) == ["city"]


@pytest.mark.promise("J21")
def test_another_name() -> None:
    """A parameter of another name is the model's to fill in."""
    consumer = Consumer().of(
        runner_of([call("otherwise", city="Oslo"), "Done."], tools=[otherwise]).run_async(USER, "s", "Hi")
    )
    [response] = consumer.wait().events[1].function_responses
    assert response.response == {"result": "Oslo given by the model"}
    assert said(consumer.events)[-1] == "agent: Done."
