"""What a tool returns, as the JSON object that stands in its function response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python

__all__ = ["error_result", "internal_error_result", "to_result"]


def to_result(value: object) -> dict[str, Any]:
    """The response for a returned value (ADK Java, FunctionTool).

    None: `{}`. What is a JSON object (a mapping, a pydantic model, a dataclass): that object. All else:
    `{"result": value}`. What has no JSON form stands as its `str`: a part of the value alone where that can be told
    (an object in a list), else the whole (a circular list, bytes that are no UTF-8). The result is a copy.
    """
    if value is None:
        return {}
    try:
        form = to_jsonable_python(value, fallback=_fallback)
    except (ValueError, TypeError):
        form = str(value)
    return form if isinstance(form, dict) else {"result": form}


def error_result(message: str) -> dict[str, Any]:
    """A result that tells the model what went wrong."""
    return {"status": "error", "message": message}


def internal_error_result() -> dict[str, Any]:
    """The result for an exception that the model must not read (ADK's words)."""
    return error_result("An internal error occurred.")


def _fallback(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
