"""Errors that a server reports in JSON: as the body of an error status, or inside an answer that began well."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import from_json, to_json

from rxagent.errors import ModelAnswerError

__all__ = ["answer_error", "error_message", "error_without_choices", "reports_error"]

_BY_WORD: Final = (
    ("rate_limit", 429),
    ("quota", 429),
    ("resource_exhausted", 429),
    ("overload", 503),
    ("unavailable", 503),
    ("insufficient_system_resource", 503),
    ("timeout", 504),
    ("auth", 401),
    ("permission", 403),
    ("not_found", 404),
    ("invalid", 400),
    ("context_length", 400),
)
_LONGEST_SHOWN: Final = 2000  # characters
_MOST_SHOWN: Final = 50  # fields
_DEEPEST_SHOWN: Final = 8
_MESSAGES: Final = ("message", "detail", "error", "msg", "status_msg", "error_message")


def reports_error(error: object) -> bool:
    """True for an error object that says something; `null`, `{}` and one of empty fields say that all is well."""
    return any(map(_says, error.values())) if isinstance(error, dict) else _says(error)


def error_without_choices(chunk: Mapping[str, Any]) -> object | None:
    """The error in a chunk that has no choices and no `error` key; None when it is none (usage, keep-alives).

    `{"object": "error", ...}` is vLLM's, `detail` FastAPI's, `errors` a gateway's, `base_resp` MiniMax's.
    """
    if chunk.get("errors"):
        return {"error": chunk["errors"]}
    if "error" in (chunk.get("object"), chunk.get("type")) or chunk.get("detail"):
        return chunk
    said = isinstance(chunk.get("message") or chunk.get("msg"), str)
    if said and any(_says(chunk.get(key)) for key in ("code", "status", "status_code", "type")):
        return chunk
    base = chunk.get("base_resp")
    return base if isinstance(base, dict) and base.get("status_code") else None


def answer_error(error: object, text: str) -> ModelAnswerError:
    """The typed error for an error object inside HTTP 200; `text` is the answer's text so far."""
    if isinstance(error, list) and error:
        error = error[0]
    error = _shortened(error)
    fields = error if isinstance(error, dict) else {"message": _in_words(error)}
    inner = fields.get("error")
    if isinstance(inner, list) and inner:
        inner = inner[0]
    if isinstance(inner, dict):  # wrapped twice
        fields = {**{key: value for key, value in fields.items() if key != "error"}, **inner}
    message = next((_in_words(fields[key]) for key in _MESSAGES if fields.get(key)), "no message")
    code = next((_in_words(fields[key]) for key in ("code", "status", "type", "status_code") if fields.get(key)), "")
    status = _status(fields)
    return ModelAnswerError(
        f"the model's server reported an error inside its answer ({code[:100] or status}): {message[:500]}",
        status=status,
        code=code[:100],
        body=_json(fields)[:2000],
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
        value = next((value[key] for key in ("error", *_MESSAGES) if value.get(key)), None)
    return value if isinstance(value, str) else _json(value) if value else ""


def _shortened(value: object, depth: int = 0) -> object:
    """Only the beginning is shown, so only that is copied: a server may send an error of any size."""
    if isinstance(value, str):
        return value[:_LONGEST_SHOWN]
    if depth > _DEEPEST_SHOWN and isinstance(value, dict | list):
        return "..."
    if isinstance(value, dict):
        some = itertools.islice(value.items(), _MOST_SHOWN)
        return {key[:_LONGEST_SHOWN]: _shortened(item, depth + 1) for key, item in some}
    if isinstance(value, list):
        return [_shortened(item, depth + 1) for item in value[:_MOST_SHOWN]]
    return value


def _says(value: object) -> bool:
    """True for a value that is there: 0 and "0" are the code of success."""
    return bool(value) and value not in ("0", "null", "None")


def _in_words(value: object) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    try:
        return to_json(value, serialize_unknown=True, inf_nan_mode="null").decode()
    except ValueError:  # half of a character, a number without end
        return ascii(value) if isinstance(value, str) else "(unreadable)"


def _status(fields: Mapping[str, Any]) -> int:
    for key in ("code", "status", "status_code"):
        value = fields.get(key)
        if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():
            value = int(value)
        if isinstance(value, int) and 100 <= value <= 599:
            return value
    words = " ".join(_in_words(fields.get(key) or "")[:100].lower() for key in ("code", "type", "status"))
    return next((status for word, status in _BY_WORD if word in words), 500)
