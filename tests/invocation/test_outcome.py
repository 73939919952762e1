"""Outcome and Usage: what they say."""

from __future__ import annotations

import time

import pytest

from rxagent.events import UsageMetadata
from rxagent.invocation import Outcome, Usage


def test_usage_adds_up() -> None:
    """Tokens of several calls are added; a total that the server leaves out is made of its parts."""
    usage = Usage()
    usage.add(UsageMetadata(prompt_token_count=5, candidates_token_count=2, total_token_count=9))
    usage.add(UsageMetadata(prompt_token_count=1, candidates_token_count=1))
    usage.add(UsageMetadata())
    assert (usage.prompt_tokens, usage.candidates_tokens, usage.total_tokens) == (6, 3, 11)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, "disposed: 0 events saved, "),
        ({"events_saved": 1, "partials_dropped": 37}, "disposed: 1 event saved, 37 partials dropped, "),
        ({"events_saved": 2, "calls_sealed": 1, "partials_dropped": 1}, ": 2 events saved, 1 call sealed, 1 partial "),
    ],
    ids=str,
)
def test_what_it_says(counts: dict[str, int], expected: str) -> None:
    """One line: the kind, what was saved, what was sealed and dropped if anything was, and the time."""
    outcome = Outcome("disposed", Usage())
    for name, count in counts.items():
        setattr(outcome, name, count)
    assert expected in str(outcome)
    assert str(outcome).endswith(" ms")


def test_a_reason_is_said() -> None:
    """The reason stands behind the kind."""
    assert str(Outcome("disposed", Usage(), reason="shutdown")).startswith("disposed (shutdown): ")


def test_the_time_that_matters() -> None:
    """A run that completed says how long it took, one that was stopped how long the stop took."""
    for kind, long in (("completed", True), ("disposed", False)):
        outcome = Outcome(kind, Usage())  # type: ignore[arg-type]
        outcome.end(time.perf_counter() - 60)
        assert outcome.duration_ms >= 60_000
        assert outcome.stop_ms < 60_000
        shown = float(str(outcome).split()[-2])
        assert (shown >= 60_000) == long
