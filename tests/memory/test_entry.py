"""Entries of the memory, as values."""

from __future__ import annotations

import pytest

from rxagent.events import Content
from rxagent.memory import MemoryEntry, SearchMemoryResponse
from rxagent.memory.entry import iso_time


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "1970-01-01T00:00:00Z"), (1_767_225_600_000, "2026-01-01T00:00:00Z"), (7, "1970-01-01T00:00:00.007Z")],
)
def test_times_as_java_writes_them(milliseconds: int, text: str) -> None:
    """Seconds without a fraction when there is none, else three digits; always UTC."""
    assert iso_time(milliseconds) == text


def test_json_both_ways() -> None:
    """A response is read from the JSON that it is written as."""
    response = SearchMemoryResponse(memories=(MemoryEntry(content=Content.user("tea"), author="user"),))
    assert SearchMemoryResponse.model_validate_json(response.model_dump_json(by_alias=True)) == response
