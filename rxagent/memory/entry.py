"""What a search of the memory gives."""

from __future__ import annotations

from datetime import UTC, datetime

from rxagent.events import Content
from rxagent.events.value import Value

__all__ = ["MemoryEntry", "SearchMemoryResponse", "iso_time"]


class MemoryEntry(Value):
    """One thing that was said. timestamp: when, in ISO 8601; it is told to models."""

    content: Content
    author: str | None = None
    timestamp: str | None = None


class SearchMemoryResponse(Value):
    """What was found."""

    memories: tuple[MemoryEntry, ...] = ()


def iso_time(milliseconds: int) -> str:
    """A time since 1970 in ISO 8601, as Java's Instant writes it: `2026-03-01T12:00:00.250Z`."""
    time = datetime.fromtimestamp(milliseconds // 1000, UTC).replace(microsecond=milliseconds % 1000 * 1000)
    form = time.isoformat(timespec="milliseconds" if milliseconds % 1000 else "seconds")
    return form.replace("+00:00", "Z")
