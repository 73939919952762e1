"""ADK Python's recordings of resumable apps, replayed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .files import DATA
from .resumed import differences, kept

RECORDED = [
    pytest.param(file, trace, runs, id=f"{path.stem}-{trace}")
    for path in sorted((DATA / "adk-python").glob("p*.json"))
    for file in (json.loads(path.read_text()),)
    for trace, runs in kept(file)
]


@pytest.mark.parametrize(("file", "trace", "runs"), RECORDED)
def test_recorded(file: Any, trace: str, runs: list[int]) -> None:
    """The runs that a recording names go as ADK Python's did: events, end, log."""
    found = differences(file, trace, runs)
    assert not found, "\n".join(found)
