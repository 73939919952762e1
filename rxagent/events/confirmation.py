"""Questions to the user about a tool call: how they stand in the log, and how an answer is read (ADK Java)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from .actions import ToolConfirmation
from .content import FunctionCall, FunctionResponse, Part

__all__ = ["REQUEST_CONFIRMATION", "asked_about", "confirmation_call", "read_decision"]

REQUEST_CONFIRMATION: Final = "adk_request_confirmation"
"""The synthetic tool by which a user is asked about a call; models never see it."""

_ORIGINAL: Final = "originalFunctionCall"
_CONFIRMATION: Final = "toolConfirmation"


def confirmation_call(id: str, original: FunctionCall, confirmation: ToolConfirmation) -> Part:
    """The question, as a call of the synthetic tool: what is asked about stands in its arguments."""
    args = {
        _ORIGINAL: original.model_dump(by_alias=True),
        _CONFIRMATION: confirmation.model_dump(by_alias=True, exclude_none=False),
    }
    return Part(function_call=FunctionCall(id=id, name=REQUEST_CONFIRMATION, args=args))


def asked_about(question: FunctionCall) -> tuple[FunctionCall, ToolConfirmation] | None:
    """The call that a question is about, and the question's words; None for what is no whole question."""
    args = question.args or {}
    original, confirmation = args.get(_ORIGINAL), args.get(_CONFIRMATION)
    if question.name != REQUEST_CONFIRMATION or not isinstance(original, Mapping):
        return None
    words = confirmation if isinstance(confirmation, Mapping) else {}
    try:
        return FunctionCall.model_validate(original), _confirmation(words)
    except ValueError:
        return None


def read_decision(answer: FunctionResponse) -> ToolConfirmation | None:
    """What the user decided; None for an answer that does not say so: then the question stays open.

    The answer is `{"confirmed": bool, "payload": ...}`, or the same as JSON text under the only key `response`.
    """
    given: Any = answer.response or {}
    if list(given) == ["response"]:
        given = given["response"]
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return None
    if not isinstance(given, Mapping) or not isinstance(given.get("confirmed"), bool):
        return None
    try:
        return _confirmation(given)
    except ValueError:
        return None


def _confirmation(given: Mapping[str, Any]) -> ToolConfirmation:
    return ToolConfirmation.model_validate({key: value for key, value in given.items() if value is not None})
