"""JSON that never fails: what goes out must not stop a conversation."""

from __future__ import annotations

from pydantic_core import to_json

__all__ = ["json_bytes"]


def json_bytes(value: object) -> bytes:
    """The value as JSON: unknown objects as their text, NaN as null, lone surrogates replaced."""
    try:
        return to_json(value, inf_nan_mode="null", serialize_unknown=True)
    except (UnicodeError, ValueError):
        return to_json(_without_surrogates(value), inf_nan_mode="null", serialize_unknown=True)


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value
