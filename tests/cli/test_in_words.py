"""Events in words."""

from __future__ import annotations

import pytest

from rxagent.cli.in_words import call_in_words, event_in_words, response_in_words, stop_in_words
from rxagent.events import Content, Event, FunctionCall, FunctionResponse, Part


def _event(author: str, *parts: Part, **more: str) -> Event:
    return Event(author=author, content=Content(role="model", parts=parts), **more)  # type: ignore[arg-type]


CALL = FunctionCall(name="look", args={"where": "Åland", "deep": True, "times": None})
RESPONSE = FunctionResponse(name="look", response={"found": [1, 2]})


def test_calls_and_results() -> None:
    """A call looks like a call, a result like JSON; a long one is cut."""
    assert call_in_words(CALL) == '-> look(where="Åland", deep=true, times=null)'
    assert call_in_words(FunctionCall(name="look")) == "-> look()"
    assert response_in_words(RESPONSE) == '<- look: {"found": [1, 2]}'
    long = response_in_words(FunctionResponse(name="look", response={"text": "x" * 1000}))
    assert len(long) < 220
    assert long.endswith("...")


def test_an_event_says_all_that_it_holds() -> None:
    """Text, calls, results and error of an event, a line each; thoughts are not told."""
    event = _event(
        "a",
        Part(text="hm", thought=True),
        Part(text="Let me look."),
        Part(function_call=CALL),
        Part(function_response=RESPONSE),
        error_code="SAFETY",
        error_message="no",
    )
    assert event_in_words(event).splitlines() == [
        "Let me look.",
        '-> look(where="Åland", deep=true, times=null)',
        '<- look: {"found": [1, 2]}',
        "SAFETY: no",
    ]
    assert event_in_words(Event(author="a", error_code="SAFETY")) == "SAFETY"


@pytest.mark.parametrize(
    ("saved", "lost", "words"),
    [
        ([], 0, "Stopped. Saved: nothing. Lost: nothing."),
        (
            [_event("user", Part(text="Hi"))],
            1,
            "Stopped. Saved: your message. Lost: 1 character of the unfinished answer.",
        ),
        (
            [
                _event("user", Part(text="Hi")),
                _event("a", Part(function_call=CALL), Part(function_call=CALL)),
                _event("a", Part(function_response=RESPONSE)),
                _event("a", Part(text="So.")),
            ],
            212,
            "Stopped. Saved: your message, 2 calls, 1 result, 1 answer. Lost: 212 characters of the unfinished answer.",
        ),
    ],
)
def test_a_stop_in_words(saved: list[Event], lost: int, words: str) -> None:
    """What was saved is counted by kind, what was lost in characters."""
    assert stop_in_words(saved, lost) == words
