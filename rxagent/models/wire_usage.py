"""The tokens of an answer, wherever a server reports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

from rxagent.events import UsageMetadata

__all__ = ["Usage"]

_LARGEST: Final = 2**63


@final
class Usage:
    """What an answer's chunks report: cumulative or once, in the middle or after the finish.

    Of each count the last one that is not zero stands; they are never added up.
    """

    __slots__ = ("_fields",)

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}

    def add(self, usage: object) -> None:
        """Take a usage object; what is none is ignored."""
        if isinstance(usage, dict):
            self._fields.update({key: value for key, value in usage.items() if value or key not in self._fields})

    def metadata(self) -> UsageMetadata | None:
        """The counts under ADK's names; None when none was reported."""
        fields = self._fields
        if not fields:
            return None
        prompt = _count(fields, "prompt_tokens", "input_tokens")
        answer = _count(fields, "completion_tokens", "output_tokens")
        spent = (prompt or 0) + (answer or 0)
        return UsageMetadata(
            prompt_token_count=prompt,
            candidates_token_count=answer,
            total_token_count=max(_count(fields, "total_tokens") or 0, spent),
            thoughts_token_count=_count(_details(fields, "completion", "output"), "reasoning_tokens"),
            cached_content_token_count=_cached(fields),
        )


def _cached(fields: Mapping[str, Any]) -> int | None:
    cached = _count(_details(fields, "prompt", "input"), "cached_tokens")
    return cached if cached is not None else _count(fields, "prompt_cache_hit_tokens")  # DeepSeek


def _details(fields: Mapping[str, Any], *sides: str) -> Mapping[str, Any]:
    return next((found for side in sides if isinstance(found := fields.get(f"{side}_tokens_details"), dict)), {})


def _count(fields: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LARGEST:
            return int(value)
    return None
