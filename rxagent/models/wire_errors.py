"""Errors that a server reports in JSON: as the body of an error status, or inside an answer that began well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import from_json, to_json

from rxagent.errors import ModelAnswerError

__all__ = ["answer_error", "error_message"]

_BY_WORD: Final = (
    ("rate_limit", 429),
    ("quota", 429),
    ("overload", 503),
    ("unavailable", 503),
    ("timeout", 504),
    ("auth", 401),
    ("permission", 403),
    ("not_found", 404),
    ("invalid", 400),
    ("context_length", 400),
)


def answer_error(error: object, text: str) -> ModelAnswerError:
    """The typed error for an error object inside HTTP 200; `text` is the answer's text so far."""
    fields = error if isinstance(error, dict) else {"message": str(error)}
    message = str(fields.get("message") or fields.get("detail") or fields.get("error") or "no message")
    code = next((str(fields[key]) for key in ("code", "status", "type") if fields.get(key)), "")
    status = _status(fields)
    return ModelAnswerError(
        f"the model's server reported an error inside its answer ({code or status}): {message[:500]}",
        status=status,
        code=code,
        body=to_json(fields, serialize_unknown=True).decode()[:2000],
        text=text,
    )


def error_message(body: str) -> str:
    """The message in the body of an error status, in any of its usual places; empty when there is none."""
    try:
        value = from_json(body)
    except ValueError:
        return ""
    if isinstance(value, list) and value:  # Google's compatibility layer wraps it in a list
        value = value[0]
    while isinstance(value, dict):
        value = next((value[key] for key in ("error", "message", "detail", "msg") if value.get(key)), None)
    return value if isinstance(value, str) else ""


def _status(fields: Mapping[str, Any]) -> int:
    for key in ("code", "status", "status_code"):
        value = fields.get(key)
        if isinstance(value, str) and value.isdigit():
            value = int(value)
        if isinstance(value, int) and 100 <= value <= 599:
            return value
    words = " ".join(str(fields.get(key) or "").lower() for key in ("code", "type", "status"))
    return next((status for word, status in _BY_WORD if word in words), 500)
