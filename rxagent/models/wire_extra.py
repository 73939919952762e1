"""What a server sends that this client does not know: kept on the part that it came with, and handed back.

A part carries it as the field `wire_extra`, a map by the names on the wire. It is stored with the event, as every
unknown field is, and goes back to servers whose profile asks for the name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from rxagent.events import Part

from .wire_text import is_whole, text_of

__all__ = ["google_signature", "merge_extra", "replayed_extra", "with_extra"]

_FIELD: Final = "wire_extra"
_GOOGLE: Final = "extra_content"


def with_extra(part: Part, extra: Mapping[str, Any]) -> Part:
    """The part, carrying `extra`; what cannot be written as JSON, and so not be stored, is left out."""
    kept = {key: value for key, value in extra.items() if is_whole(key) and is_whole(value)}
    return part.model_copy(update={_FIELD: kept}) if kept else part


def merge_extra(known: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add what a later delta brings: lists grow, maps are filled, anything else is replaced."""
    for key, value in more.items():
        old = known.get(key)
        if isinstance(old, list) and isinstance(value, list):
            known[key] = [*old, *value]
        elif isinstance(old, dict) and isinstance(value, dict):
            known[key] = {**old, **value}
        elif value is not None:
            known[key] = value


def replayed_extra(part: Part, names: Collection[str]) -> dict[str, Any]:
    """What of a part's extra goes back under these names, its thought signature included."""
    kept = (part.model_extra or {}).get(_FIELD)
    extra = {key: value for key, value in kept.items() if key in names} if isinstance(kept, Mapping) else {}
    if part.thought_signature and _GOOGLE in names and not google_signature(extra):
        extra[_GOOGLE] = {"google": {"thought_signature": part.thought_signature}}
    return extra


def google_signature(extra: Mapping[str, Any]) -> str | None:
    """The thought signature in Google's place for it."""
    content = extra.get(_GOOGLE)
    google = content.get("google") if isinstance(content, Mapping) else None
    return (text_of(google.get("thought_signature")) or None) if isinstance(google, Mapping) else None
