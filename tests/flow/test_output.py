"""output_key and output_schema: what an answer leaves in the state, and how its shape is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from rxagent.agents import LlmAgent
from rxagent.errors import ConfigError
from rxagent.events import Content, Event
from rxagent.flow.output import saving_output
from rxagent.flow.output_check import mismatch
from rxagent.flow.output_schema import OutputSchema
from rxagent.flow.output_tool import takes_schema_beside_tools
from rxagent.invocation import RunConfig
from rxagent.models import GenerateContentConfig, LlmResponse
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel, call, thought
from rxagent.tools import LongRunningFunctionTool

CITY = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}, "n": {"type": "INTEGER"}}, "required": ["city"]}
CITY_JSON = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["city"],
}


class City(BaseModel):
    city: str
    n: int | None = None


@dataclass
class Point:
    x: int


def t() -> dict[str, bool]:
    """A tool."""
    return {"ok": True}


def played(model: ScriptedModel, *, run_config: RunConfig | None = None, **agent: Any) -> list[Event]:
    """The events of one run."""
    runner = Runner(LlmAgent(name="root", model=model, **agent))
    events = list(runner.run("me", "s", "hi", run_config))
    session: Any = runner.session_service.get_session("root", "me", "s")
    assert session.state == {
        key: value for event in session.events for key, value in event.actions.state_delta.items()
    }, "the delta of an event is in the state"
    return events


def deltas(events: list[Event]) -> list[Any]:
    """What each event puts under `out`; "-" for nothing."""
    return [event.actions.state_delta.get("out", "-") for event in events]


# -- output_key --------------------------------------------------------------------------------------------------------


def test_the_answer_is_in_the_delta_of_its_event() -> None:
    """The final text, without thoughts, stands in the delta of the event that says it, not of a partial one."""
    model = ScriptedModel([thought("hm"), "Hel", "lo"])
    events = played(model, output_key="out", run_config=RunConfig(streaming_mode="sse"))
    assert deltas(events) == ["-", "-", "-", "Hello"]


def test_calls_and_responses_are_no_answer() -> None:
    """Text beside a call is no final answer; an empty text is one."""
    model = ScriptedModel(["beside", call("t")], LlmResponse.model_validate({"content": {"parts": [{"text": ""}]}}))
    assert deltas(played(model, output_key="out", tools=[t])) == ["-", "-", ""]


def test_thoughts_alone_and_errors_are_no_answer() -> None:
    """An answer of nothing but thoughts, or an error, leaves the key alone."""
    assert deltas(played(ScriptedModel([thought("hm")]), output_key="out")) == ["-"]
    assert deltas(played(ScriptedModel([LlmResponse(error_code="SAFETY")]), output_key="out")) == ["-"]


def test_an_answer_of_a_model_callback_counts() -> None:
    """What before_model says in the model's place is stored; what before_agent says is not (c33)."""
    said = LlmResponse.model_validate({"content": {"role": "model", "parts": [{"text": "by callback"}]}})
    events = played(ScriptedModel(), output_key="out", before_model_callback=lambda ctx, request: said)
    assert deltas(events) == ["by callback"]
    events = played(ScriptedModel(), output_key="out", before_agent_callback=lambda ctx: "by callback")
    assert deltas(events) == ["-"]


def test_other_deltas_stay() -> None:
    """What a callback wrote goes out beside the answer, and the callback's own map is left alone."""
    seen: list[Any] = []

    def note(ctx: Any, response: LlmResponse) -> None:
        ctx.state["x"] = 1
        seen.append(ctx.actions)

    (event,) = played(ScriptedModel("hi"), output_key="out", after_model_callback=note)
    assert event.actions.state_delta == {"x": 1, "out": "hi"}
    assert seen[0].state_delta == {"x": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"city": "Rome", "n": 3}', {"city": "Rome", "n": 3}),
        ("not json", "not json"),
        ('{"n": 3}', '{"n": 3}'),
        ('{"city": 5}', '{"city": 5}'),
        ("[1]", "[1]"),
    ],
)
@pytest.mark.parametrize("schema", [CITY, City])
def test_with_a_schema_the_value_is_stored(schema: Any, text: str, value: Any) -> None:
    """JSON that fits is stored as a value; what does not fit, as the text it is, and the run completes (f16)."""
    assert deltas(played(ScriptedModel(text), output_key="out", output_schema=schema)) == [value]


def test_unknown_fields() -> None:
    """A dict schema refuses fields it does not name, as ADK's does; a pydantic class has its own way."""
    text = '{"city": "Rome", "zz": 1}'
    assert deltas(played(ScriptedModel(text), output_key="out", output_schema=CITY)) == [text]
    assert deltas(played(ScriptedModel(text), output_key="out", output_schema=City)) == [{"city": "Rome", "n": None}]


def test_a_partial_event_is_no_answer() -> None:
    """Not even beside a designed pause, whose event ends the turn."""
    beside = {"parts": [{"text": "wait"}, {"functionCall": {"id": "L", "name": "t", "args": {}}}]}
    model = ScriptedModel([LlmResponse.model_validate({"content": beside, "partial": True}), "so", call("t")], "done")
    events = played(
        model, output_key="out", tools=[LongRunningFunctionTool(t)], run_config=RunConfig(streaming_mode="sse")
    )
    saved = [event for event in events if "out" in event.actions.state_delta]
    assert saved
    assert not any(event.partial for event in saved)


def test_the_event_itself_is_not_changed() -> None:
    """The event with the answer is a new one; nobody's actions change."""
    shown: list[Event] = []
    agent = LlmAgent(name="root", output_key="out")
    event = Event(author="root", content=Content.model("hi"))
    saving_output(agent, shown.append)(event)
    assert shown[0].actions.state_delta == {"out": "hi"}
    assert event.actions.state_delta == {}
    assert shown[0].id == event.id


# -- the request -------------------------------------------------------------------------------------------------------


def request(schema: Any, model: str = "m", **agent: Any) -> Any:
    scripted = ScriptedModel("ok", model=model)
    played(scripted, output_schema=schema, **agent)
    return scripted.requests[0]


def test_without_tools_the_schema_is_in_the_request() -> None:
    """Response schema and mime type are set; ADK's capital types become JSON schema's; nothing else changes."""
    asked = request(CITY)
    assert asked.config.response_schema == CITY_JSON
    assert asked.config.response_mime_type == "application/json"
    assert asked.tools == ()
    assert "IMPORTANT" not in asked.system_instruction
    assert CITY["type"] == "OBJECT"


@pytest.mark.parametrize("schema", [City, list[City], Point])
def test_types_become_schemas(schema: Any) -> None:
    """A pydantic class, a list of them or a dataclass is sent as its JSON schema."""
    sent = request(schema).config.response_schema
    assert sent["type"] == ("array" if schema == list[City] else "object")


def test_the_agents_own_config_stays() -> None:
    """Other settings are sent with the schema, and the agent's config is not changed."""
    config = GenerateContentConfig(temperature=0.5)
    assert request(CITY, generate_content_config=config).config.temperature == 0.5
    assert config.response_schema is None


@pytest.mark.parametrize(
    ("model", "both"),
    [
        ("gpt-4o-mini", True),
        ("openai/gpt-5.1", True),
        ("o3", True),
        ("gemini-3-pro", True),
        ("gemini-2.0-flash", False),
        ("gpt-3.5-turbo", False),
        ("qwen3", False),
        ("local", False),
    ],
)
def test_which_models_take_schema_and_tools(model: str, both: bool) -> None:
    """Models known to do both get both; others answer by the tool set_model_response."""
    assert takes_schema_beside_tools(model) is both
    asked = request(CITY, model, tools=[t])
    assert (asked.config.response_schema is not None) is both
    assert asked.tools == (("t",) if both else ("set_model_response", "t"))
    assert ("IMPORTANT: You have access to other tools" in asked.system_instruction) is not both


# -- set_model_response ------------------------------------------------------------------------------------------------


def test_the_tool_gives_the_final_answer() -> None:
    """Its call ends the run with a final text event of the answer's JSON, which output_key stores as a value (f17)."""
    model = ScriptedModel([call("set_model_response", city="Rome", n=1)])
    events = played(model, output_key="out", output_schema=CITY, tools=[t])
    assert events[1].function_responses[0].response == {"city": "Rome", "n": 1}
    assert events[2].text == '{"city":"Rome","n":1}'
    assert deltas(events) == ["-", "-", {"city": "Rome", "n": 1}]
    assert len(events) == 3


def test_an_answer_that_does_not_fit_is_told_to_the_model() -> None:
    """The model reads what does not fit, and may call the tool again."""
    model = ScriptedModel([call("set_model_response", n=1)], [call("set_model_response", city="Rome")])
    events = played(model, output_key="out", output_schema=CITY, tools=[t])
    assert "lacks 'city'" in str(events[1].function_responses[0].response)
    assert deltas(events) == ["-", "-", "-", "-", {"city": "Rome"}]


def test_an_answer_that_is_no_object() -> None:
    """A list is one argument of the tool, and the final text is the list."""
    model = ScriptedModel([call("set_model_response", response=[1, 2])])
    events = played(model, output_key="out", output_schema=list[int], tools=[t])
    assert events[-1].text == "[1,2]"
    assert deltas(events)[-1] == [1, 2]


# -- schemas -----------------------------------------------------------------------------------------------------------

TREE = {"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}}}}


@pytest.mark.parametrize(
    ("value", "schema", "problem"),
    [
        (1, {"type": "integer"}, ""),
        (True, {"type": "integer"}, "is not of type integer"),
        (1.5, {"type": "integer"}, "is not of type integer"),
        (1, {"type": "number"}, ""),
        (True, {"type": "boolean"}, ""),
        (None, {"type": "string"}, "is not of type string"),
        (None, {"type": "string", "nullable": True}, ""),
        (None, {"type": ["string", "null"]}, ""),
        ("a", {"enum": ["a", "b"]}, ""),
        ("c", {"enum": ["a", "b"]}, "is none of"),
        (2, {"const": 1}, "is not 1"),
        ([1, "x"], {"items": {"type": "integer"}}, "[1] is not of type integer"),
        ({"a": 1}, {"type": "object"}, ""),
        ({"a": 1}, {"properties": {"b": {}}}, "unknown 'a'"),
        ({"a": 1}, {"properties": {"b": {}}, "additionalProperties": True}, ""),
        ({"a": 1}, {"additionalProperties": {"type": "string"}}, ".a is not of type string"),
        ({}, {"required": ["a"]}, "lacks 'a'"),
        (1, {"anyOf": [{"type": "string"}, {"type": "integer"}]}, ""),
        ([], {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "fits none"),
        (1, {"oneOf": [{"type": "string"}]}, "fits none"),
        (1, {"allOf": [{"type": "integer"}, {"type": "string"}]}, "is not of type string"),
        ({"t": {"t": {}}}, TREE, ""),
        ({"t": {"t": 5}}, TREE, ".t.t is not of type object"),
        ("anything", {}, ""),
    ],
)
def test_what_fits_a_schema(value: Any, schema: dict[str, Any], problem: str) -> None:
    """The common part of JSON schema is checked, and what does not fit is said with its place."""
    found = mismatch(value, schema)
    assert problem in found
    assert bool(found) is bool(problem)


def test_a_property_may_be_called_type() -> None:
    """Capital types are made small, but not in what is called `type` itself."""
    schema = OutputSchema({"type": ["OBJECT", "NULL"], "properties": {"type": {"type": "STRING", "enum": ["A"]}}})
    assert schema.json_schema == {
        "type": ["object", "null"],
        "properties": {"type": {"type": "string", "enum": ["A"]}},
    }


@pytest.mark.parametrize("given", ["text", 5, None])
def test_what_is_no_schema(given: Any) -> None:
    """What is neither a type nor a dict is refused at once."""
    with pytest.raises(ConfigError, match="a schema is"):
        OutputSchema(given)


def test_a_type_without_schema() -> None:
    """A type that pydantic does not know is a ConfigError when it is first used."""
    with pytest.raises(ConfigError, match="has no JSON schema"):
        _ = OutputSchema(ScriptedModel).json_schema
