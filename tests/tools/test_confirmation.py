"""Tools that ask before they run."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.errors import ConfigError
from rxagent.events import EventActions, ToolConfirmation
from rxagent.tools import FunctionTool, LongRunningFunctionTool


class Context:
    """As much of a call's context as a function tool touches."""

    def __init__(self, confirmation: ToolConfirmation | None = None) -> None:
        self.function_call_id = "c1"
        self.tool_confirmation = confirmation
        self.actions = EventActions()
        self.asked: list[str] = []

    def request_confirmation(self, hint: str = "", payload: Any = None) -> None:
        self.asked.append(hint)


def pay(amount: int, currency: str = "EUR") -> str:
    """Pay."""
    return f"paid {amount} {currency}"


def called(tool: FunctionTool, context: Context, **args: Any) -> dict[str, Any]:
    return tool.run_async(args, context).blocking_get()  # type: ignore[arg-type]


ASKED = {"error": "This tool call requires confirmation, please approve or reject."}


def test_always() -> None:
    """Not confirmed it asks in ADK's words; rejected it does not run; approved it does."""
    tool = FunctionTool(pay, require_confirmation=True)
    context = Context()
    assert called(tool, context, amount=5) == ASKED
    assert context.asked == [
        "Please approve or reject the tool call pay() by responding with a FunctionResponse with an expected "
        "ToolConfirmation payload."
    ]
    assert called(tool, Context(ToolConfirmation()), amount=5) == {"error": "This tool call is rejected."}
    assert called(tool, Context(ToolConfirmation(confirmed=True)), amount=5) == {"result": "paid 5 EUR"}


@pytest.mark.parametrize(
    "predicate",
    [
        lambda amount: amount > 100,
        lambda amount, currency: amount > 100 and currency == "EUR",
        lambda **all: all["amount"] > 100,
        lambda currency, amount=0, limit=100: amount > limit,
    ],
    ids=["one", "with the tool's default", "all", "with a default of its own"],
)
def test_a_predicate_of_the_arguments(predicate: Any) -> None:
    """It gets the converted arguments by name, the tool's defaults included."""
    tool = FunctionTool(pay, require_confirmation=predicate)
    assert called(tool, Context(), amount="5") == {"result": "paid 5 EUR"}
    assert called(tool, Context(), amount="500") == ASKED


def test_arguments_that_do_not_bind_are_told_first() -> None:
    """Nobody is asked about a call that could not run."""
    context = Context()
    assert called(FunctionTool(pay, require_confirmation=True), context, amount="much")["status"] == "error"
    assert context.asked == []


def test_a_predicate_that_fails() -> None:
    """Its exception is the tool's: a generic error result, and the tool does not run."""
    tool = FunctionTool(pay, require_confirmation=lambda amount: amount < 1 / 0)
    assert called(tool, Context(), amount=5) == {"status": "error", "message": "An internal error occurred."}


def test_predicates_that_cannot_be_called() -> None:
    """One that takes what is no parameter, or a coroutine function, is refused at construction."""

    async def later(amount: int) -> bool:
        return True

    with pytest.raises(ConfigError, match="takes total"):
        FunctionTool(pay, require_confirmation=lambda total: True)
    with pytest.raises(ConfigError, match="coroutine"):
        LongRunningFunctionTool(pay, require_confirmation=later)  # type: ignore[arg-type]
