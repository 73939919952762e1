"""output_repair: a model is asked again for an answer that does not fit the schema."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from rxagent.agents import LlmAgent
from rxagent.errors import ConfigError
from rxagent.events import Event
from rxagent.invocation import RunConfig
from rxagent.models import LlmRequest
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel, call

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
BAD, GOOD = '{"town": "Oslo"}', '{"city": "Oslo"}'


class City(BaseModel):
    city: str


def t() -> dict[str, bool]:
    """A tool."""
    return {"ok": True}


def played(model: ScriptedModel, message: str = "hi", **agent: Any) -> tuple[list[Event], Runner]:
    """The events of one run."""
    options: dict[str, Any] = {"output_schema": CITY, "output_key": "out", **agent}
    runner = Runner(LlmAgent(name="root", model=model, **options))
    return list(runner.run("me", "s", message, RunConfig())), runner


def asked(model: ScriptedModel, number: int) -> list[str]:
    """The texts of a request's contents."""
    request: LlmRequest = model.requests[number]  # type: ignore[assignment]
    return [content.text for content in request.contents]


@pytest.mark.parametrize("schema", [CITY, City], ids=["JSON schema", "pydantic"])
@pytest.mark.parametrize("bad", [BAD, "Oslo", '{"city": "Os', "[]"])
def test_an_answer_that_does_not_fit_is_asked_for_again(schema: Any, bad: str) -> None:
    """The model is told what does not fit and asked once more; only what fits is put in the state."""
    model = ScriptedModel([bad], [GOOD])
    events, runner = played(model, output_schema=schema, output_repair=1)
    assert [event.text for event in events] == [bad, GOOD]
    assert [event.actions.state_delta.get("out") for event in events] == [None, {"city": "Oslo"}]
    first, second = asked(model, 0), asked(model, 1)
    assert first == ["hi"]
    assert second[:2] == ["hi", bad]
    assert len(second) == 3
    assert second[2].startswith("Your last answer does not have the required form: ")
    assert model.requests[1].contents[2].role == "user"
    session: Any = runner.session_service.get_session("root", "me", "s")
    assert [event.text for event in session.events] == ["hi", bad, GOOD], "the message between is not stored"


@pytest.mark.parametrize(("repairs", "answers"), [(0, 1), (1, 2), (2, 3)])
def test_the_last_repair(repairs: int, answers: int) -> None:
    """A model that never keeps to the schema is asked so often and no more; its last text is stored as it is."""
    model = ScriptedModel(*[[f"no {number}"] for number in range(9)])
    events, _ = played(model, output_repair=repairs)
    assert [event.text for event in events] == [f"no {number}" for number in range(answers)]
    assert [event.actions.state_delta.get("out") for event in events] == [None] * repairs + [f"no {repairs}"]


def test_the_default_asks_once() -> None:
    """Without output_repair an answer that does not fit is stored as text, and is no error (ADK)."""
    model = ScriptedModel([BAD])
    events, _ = played(model)
    assert [event.actions.state_delta for event in events] == [{"out": BAD}]
    assert LlmAgent(name="a").output_repair == 0


def test_what_fits_is_not_asked_for_again() -> None:
    """An answer that fits, and any answer without a schema, ends the turn at once."""
    assert len(played(ScriptedModel([GOOD]), output_repair=1)[0]) == 1
    assert len(played(ScriptedModel([BAD]), output_repair=1, output_schema=None)[0]) == 1


def test_calls_before_and_after_a_repair() -> None:
    """Calls are no answers: they run before and after a repair, whose message is said once."""
    model = ScriptedModel([call("t")], [BAD], [call("t")], [GOOD], model="gpt-4o")
    events, _ = played(model, output_repair=1, tools=[t])
    assert [event.text for event in events if event.text] == [BAD, GOOD]
    told = [sum("required form" in text for text in asked(model, number)) for number in range(4)]
    assert told == [0, 0, 1, 0]


def test_a_model_that_forgets_its_tool() -> None:
    """Where the answer is given by a tool, a text that does not fit is repaired all the same."""
    model = ScriptedModel(["Oslo it is."], [call("set_model_response", city="Oslo")])
    events, _ = played(model, output_repair=1, tools=[t])
    assert events[-1].actions.state_delta == {"out": {"city": "Oslo"}}
    assert len(model.requests) == 2


def test_max_steps_go_before() -> None:
    """A step that max_steps forbids is not taken for a repair: the answer is stored as it is."""
    model = ScriptedModel([BAD], [GOOD])
    events, _ = played(model, output_repair=1, max_steps=1)
    assert [event.actions.state_delta for event in events] == [{"out": BAD}]


def test_each_turn_has_its_repairs() -> None:
    """A repair that one turn has used is there again in the next one."""
    model = ScriptedModel([BAD], [GOOD], [BAD], [GOOD])
    _, runner = played(model, output_repair=1)
    assert [event.text for event in runner.run("me", "s", "again")] == [BAD, GOOD]


def test_a_number_that_is_none() -> None:
    """A negative number of repairs is an error at construction."""
    with pytest.raises(ConfigError, match="output_repair"):
        LlmAgent(name="a", output_repair=-1)
