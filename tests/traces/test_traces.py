"""ADK Java's recordings, replayed: emitted, log, state, requests, terminal and the timeline's order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .comparer import Comparer
from .differences import DIFFERENCES
from .expected import compared, differing
from .files import OURS, ours_of, trace_files

FILES = trace_files()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_trace(path: Path) -> None:
    """A scenario goes as ADK Java recorded it, apart from what the table of differences names."""
    found = compared(json.loads(path.read_text()), ours_of(path.stem))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("id", sorted(DIFFERENCES))
def test_the_table_names_real_differences(id: str) -> None:
    """Each entry of the table has a trace that differs in exactly the parts that it replaces."""
    path = next(path for path in FILES if path.stem == id)
    assert sorted(differing(json.loads(path.read_text()))) == sorted(ours_of(id))


def test_no_difference_without_a_reason() -> None:
    """What replaces a part of a recording stands in the table."""
    assert {path.stem for path in OURS.glob("*.json")} == set(DIFFERENCES)


def test_the_comparer_sees_a_difference() -> None:
    """A changed value, a missing entry, and one id for two symbols are differences; other ids are none."""
    first, second = (f"{n}0000000-0000-4000-8000-000000000000" for n in (1, 2))

    def differences(expected: object, actual: object) -> int:
        comparer = Comparer()
        comparer.compare(expected, actual)
        return len(comparer.differences)

    assert not differences({"a": "$e1", "b": ["$e1", "$e2"]}, {"a": first, "b": [first, second]})
    assert differences({"a": "$e1", "b": "$e2"}, {"a": first, "b": first})
    assert differences({"a": "$e1", "b": "$e1"}, {"a": first, "b": second})
    assert differences({"a": 1}, {"a": True})
    assert differences([{"t": "append"}], [])
