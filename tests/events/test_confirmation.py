"""How a question stands in the log, and how answers to it are read."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.events import FunctionCall, FunctionResponse, ToolConfirmation
from rxagent.events.confirmation import asked_about, confirmation_call, read_decision


def decision(**response: Any) -> ToolConfirmation | None:
    return read_decision(FunctionResponse(id="q", name="adk_request_confirmation", response=response))


def test_a_question_has_adks_form() -> None:
    """The call, and the words, under ADK's keys; reading it back gives both."""
    made = FunctionCall(id="c1", name="refund", args={"order": 7})
    question = confirmation_call("q1", made, ToolConfirmation(hint="Sure?")).function_call
    assert question is not None
    assert question.args == {
        "originalFunctionCall": {"id": "c1", "name": "refund", "args": {"order": 7}},
        "toolConfirmation": {"hint": "Sure?", "confirmed": False, "payload": None},
    }
    assert asked_about(question) == (made, ToolConfirmation(hint="Sure?"))


@pytest.mark.parametrize("args", [{}, {"originalFunctionCall": "c1"}, {"originalFunctionCall": {"args": 3}}])
def test_what_is_no_question(args: dict[str, Any]) -> None:
    """A call of that name without a whole call in it asks about nothing."""
    assert asked_about(FunctionCall(id="q", name="adk_request_confirmation", args=args)) is None
    assert asked_about(FunctionCall(id="q", name="other", args=args)) is None


def test_answers() -> None:
    """As an object, or as JSON text under the only key `response`; absent fields have their defaults."""
    assert decision(confirmed=True) == ToolConfirmation(confirmed=True)
    assert decision(confirmed=False, hint=None, payload={"n": 1}) == ToolConfirmation(payload={"n": 1})
    assert decision(response='{"confirmed": true, "payload": 5}') == ToolConfirmation(confirmed=True, payload=5)
    assert decision(response={"confirmed": True}) == ToolConfirmation(confirmed=True)


@pytest.mark.parametrize(
    "response",
    [{}, {"payload": 1}, {"confirmed": "true"}, {"confirmed": 1}, {"response": "yes"}, {"response": "[true]"}],
    ids=str,
)
def test_what_decides_nothing(response: dict[str, Any]) -> None:
    """What does not say true or false is no decision, and never an approval."""
    assert decision(**response) is None
