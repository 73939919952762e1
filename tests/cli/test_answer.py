"""AnswerWriter: what is shown of a run's events."""

from __future__ import annotations

import pytest

from rxagent.cli.answer import AnswerWriter
from rxagent.cli.screen import PlainScreen
from rxagent.events import Content, Event


def _piece(text: str, author: str = "a") -> Event:
    return Event(author=author, content=Content.model(text), partial=True)


def _whole(text: str, author: str = "a") -> Event:
    return Event(author=author, content=Content.model(text))


@pytest.mark.parametrize(
    ("events", "out"),
    [
        ([_piece("It is "), _piece("21."), _whole("It is 21.")], "It is 21.\n"),
        ([_whole("It is 21.")], "It is 21.\n"),
        ([_piece("It is "), _whole("It is 21.")], "It is 21.\n"),
        ([_piece("It is "), _whole("Something else.")], "It is \nSomething else.\n"),
        ([_whole("One."), _whole("Two.")], "One.\nTwo.\n"),
    ],
)
def test_each_text_is_shown_once(events: list[Event], out: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Pieces are shown as they come; the whole adds only what they have not said, or replaces them on a line below."""
    writer = AnswerWriter(PlainScreen())
    for event in events:
        writer.show(event)
    assert capsys.readouterr().out == out
    assert writer.unsaved == 0


def test_what_no_final_event_holds_is_unsaved() -> None:
    """Characters count as unsaved until their author's final event has come; two agents are counted apart."""
    writer = AnswerWriter(PlainScreen())
    writer.show(_piece("12345"))
    writer.show(_piece("123", "b"))
    assert writer.unsaved == 8
    writer.show(_whole("12345"))
    assert writer.unsaved == 3


def test_a_change_of_speaker_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """The first speaker needs no name; from then on a change is told."""
    writer = AnswerWriter(PlainScreen())
    for event in (_whole("One."), _whole("Two."), _whole("Three.", "b"), _whole("Four.")):
        writer.show(event)
    assert capsys.readouterr().err == "[b]\n[a]\n"


def test_an_error_in_an_event_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """An event's error code and message are shown."""
    AnswerWriter(PlainScreen()).show(Event(author="a", error_code="SAFETY", error_message="no"))
    assert capsys.readouterr().err == "SAFETY: no\n"
