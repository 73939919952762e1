"""Logs and requests that are wrong are found, and right ones are not."""

from __future__ import annotations

import pytest

from rxagent.events import Event, ToolConfirmation
from rxagent.events.confirmation import confirmation_call
from rxagent.testing.invariants import log_faults, request_faults
from tests.history.logs import call, calls, responds, response, said, user


def numbered(*events: Event) -> list[Event]:
    return [event.model_copy(update={"seq": seq}) for seq, event in enumerate(events, start=1)]


def test_a_good_log_has_no_faults() -> None:
    """Calls with one response, open calls, and pauses with several responses are all in order."""
    log = numbered(
        user("q"),
        calls("a", call("1"), call("2")),
        responds("a", response("1")),
        calls("a", call("L"), pauses=["L"]),
        responds("a", response("L", ticket=1)),
        user(response("L", done=1)),
    )
    assert list(log_faults(log)) == []


def test_a_question_makes_a_result_provisional() -> None:
    """A call that the user was asked about has two responses: the provisional one, and what came after the decision."""
    made = call("1")
    assert made.function_call is not None
    question = confirmation_call("q", made.function_call, ToolConfirmation())
    log = [
        calls("a", made),
        responds("a", question, long_running_tool_ids=frozenset(["q"])),
        responds("a", response("1")),
        user(response("q", "adk_request_confirmation", confirmed=True)),
        responds("a", response("1")),
    ]
    assert list(log_faults(numbered(*log))) == []
    assert "3 responses" in "".join(log_faults(numbered(*log, responds("a", response("1")))))


@pytest.mark.parametrize(
    ("log", "fault"),
    [
        ([user("q", seq=1), said("a", "x", seq=3)], "sequence numbers are [1, 3]"),
        (numbered(said("a", "x", partial=True)), "event 1 is partial"),
        (numbered(calls("a", call("1")), responds("a", response("1")), responds("a", response("1"))), "2 responses"),
        (numbered(responds("a", response("1"))), "1 responses in the log answer no call"),
    ],
    ids=["gap", "partial", "two responses", "orphan"],
)
def test_a_bad_log(log: list[Event], fault: str) -> None:
    """Gaps, partials, second responses and orphans are named."""
    assert [fault in found for found in log_faults(log)] == [True]


@pytest.mark.parametrize(
    ("events", "faults"),
    [
        ([calls("a", call("1"), call("2")), responds("a", response("2"), response("1"))], 0),
        ([calls("a", call("1")), responds("a", response("1")), calls("a", call("1")), responds("a", response("1"))], 0),
        ([calls("a", call("1")), user("hm")], 1),
        ([calls("a", call("1"))], 1),
        ([calls("a", call("1")), user("hm"), responds("a", response("1"))], 2),
        ([calls("a", call("1")), responds("a", response("1"), response("1"))], 1),
    ],
    ids=["any order", "an id again", "open", "open at the end", "not behind", "twice"],
)
def test_requests(events: list[Event], faults: int) -> None:
    """Behind each content with calls stands one with exactly their responses."""
    assert len(list(request_faults(event.content for event in events if event.content))) == faults
