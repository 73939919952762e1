"""A model turn: which answers of before-model callbacks stand in the model's place."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.events import Content
from rxagent.models import LlmResponse
from rxagent.testing.scripted_model import ScriptedModel
from tests.runner.driving import USER, log, runner_of, said


@pytest.mark.parametrize(
    "answer",
    [
        {"error_code": "BLOCKED", "error_message": "not today"},
        {"turn_complete": True},
        {"interrupted": True},
        {"content": Content.model("No.")},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_an_answer_that_makes_an_event_stands_in_the_models_place(answer: dict[str, Any]) -> None:
    """A refusal by error code is an answer, too: the model is not asked (ADK Java)."""
    model = ScriptedModel("Never.")
    runner = runner_of(model, before_model_callback=lambda *_: LlmResponse(**answer))
    [event] = list(runner.run(USER, "s", "Hi"))
    assert model.requests == []
    assert {name: getattr(event, name) for name in answer} == answer
    assert len(log(runner)) == 2


def test_an_answer_that_says_nothing_skips_nothing() -> None:
    """Usage alone is no event: the model is asked all the same (ADK Java)."""
    runner = runner_of(ScriptedModel("Hello."), before_model_callback=lambda *_: LlmResponse())
    assert said(runner.run(USER, "s", "Hi"))[-1:] == ["agent: Hello."]
