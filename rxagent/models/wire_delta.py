"""What one delta, or one whole message, says: reasoning, text, and what this client does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from .wire_text import text_of

__all__ = ["Said", "said_in"]

Json = Mapping[str, Any]

_REASONING: Final = ("reasoning_content", "reasoning", "thinking", "reasoning_text")
_DETAILS: Final = "reasoning_details"
_KNOWN: Final = frozenset({"role", "content", "refusal", "tool_calls", "function_call", "error", *_REASONING})
_NOTHING: Final[dict[str, Any]] = {}


class Said(NamedTuple):
    """A delta in our words. extra: fields that this client does not know, for the next request."""

    thought: str
    text: str
    extra: dict[str, Any]


def said_in(delta: Json) -> Said:
    """Read it. Texts may be null, a list of typed pieces (Mistral), or of an unknown type, which says nothing."""
    content = delta.get("content")
    thought, text = ("", content) if isinstance(content, str) else _pieces(content)
    for key in _REASONING:
        if key in delta and (reasoning := "".join(_pieces(delta[key]))):
            thought = reasoning + thought
            break
    text += text_of(delta.get("refusal"))
    if delta.keys() <= _KNOWN:
        return Said(thought, text, _NOTHING)
    extra = {key: value for key, value in delta.items() if key not in _KNOWN and value is not None}
    if not thought:
        thought = _detailed(extra.get(_DETAILS))
    if _google_says_thought(extra):
        thought, text = thought + text, ""
    return Said(thought, text, extra)


def _pieces(content: object) -> tuple[str, str]:
    """(reasoning, text) of a content: a text, a typed piece, or a list of these."""
    if isinstance(content, str):
        return "", content
    if isinstance(content, dict):
        return "".join(_pieces(content.get("thinking"))), text_of(content.get("text"))
    if not isinstance(content, list):
        return "", ""
    found = [_pieces(piece) for piece in content if isinstance(piece, str | dict)]
    return "".join(thought for thought, _ in found), "".join(text for _, text in found)


def _detailed(details: object) -> str:
    """The reasoning that OpenRouter's `reasoning_details` show."""
    pieces = details if isinstance(details, list) else ()
    return "".join(
        text_of(piece.get("text")) or text_of(piece.get("summary")) for piece in pieces if isinstance(piece, dict)
    )


def _google_says_thought(extra: dict[str, Any]) -> bool:
    content = extra.get("extra_content")
    google = content.get("google") if isinstance(content, dict) else None
    return isinstance(google, dict) and google.get("thought") is True
