"""Which events are due for a summary."""

from __future__ import annotations

from rxagent.events import Event, UsageMetadata
from rxagent.flow.compaction_windows import before_the_tail, known_prompt_tokens, sliding_window
from tests.history.logs import said, user
from tests.history.summaries import summary, timed


def runs(*ids: str) -> list[Event]:
    """A message and an answer of each of these runs."""
    return timed(
        *(event for id in ids for event in (user(f"q{id}", invocation_id=id), said("root", f"a{id}", invocation_id=id)))
    )


def test_the_window_slides() -> None:
    """Each `interval` runs since the last summary make a window, with `overlap` runs before it."""
    log = runs("1", "2", "3", "4")
    assert sliding_window(log[:2], 2, 0) == []
    assert sliding_window(log[:4], 2, 0) == [0, 1, 2, 3]
    summarised = [*log[:4], summary(1, 4), *log[4:]]
    assert sliding_window(summarised[:7], 2, 0) == []
    assert sliding_window(summarised, 2, 0) == [5, 6, 7, 8]
    assert sliding_window(summarised, 2, 1) == [2, 3, 5, 6, 7, 8]
    assert sliding_window(summarised, 2, 9) == [0, 1, 2, 3, 5, 6, 7, 8]


def test_a_seal_is_no_run() -> None:
    """A seal carries the id of an older run; that does not count as a run since the summary."""
    seal = said("root", "x", invocation_id="1", custom_metadata={"sealed": True})
    assert sliding_window([*runs("1"), summary(1, 2), *timed(seal, times=[9]), *runs("2")], 2, 0) == []


def test_the_tail_is_kept() -> None:
    """All but the newest events are due; none when there are no more than these."""
    log = runs("1", "2")
    assert before_the_tail(log, 1) == [0, 1, 2]
    assert before_the_tail(log, 0) == [0, 1, 2, 3]
    assert before_the_tail(log, 4) == before_the_tail(log, 9) == []


def test_the_newest_known_prompt() -> None:
    """The newest usage counts, and none from before a summary."""
    event = said("root", "x", usage_metadata=UsageMetadata(prompt_token_count=7))
    assert known_prompt_tokens([said("root", "y", usage_metadata=UsageMetadata(prompt_token_count=3)), event]) == 7
    assert known_prompt_tokens([event, said("root", "y")]) == 7
    assert known_prompt_tokens([event, summary(1, 2)]) is None
    assert known_prompt_tokens([]) is None
