"""What an agent says and thinks, as AG-UI messages."""

from __future__ import annotations

from typing import Any

from rxagent.serve.agui_speech import Speech


def text(words: str) -> dict[str, Any]:
    return {"text": words}


def thought(words: str) -> dict[str, Any]:
    return {"text": words, "thought": True}


def types(events: list[Any]) -> list[str]:
    return [event.type.value for event in events]


def test_pieces_and_their_whole_are_one_message() -> None:
    """What has been sent is not sent again; what was lost at the end is."""
    speech = Speech("a", {})
    (start, first) = speech.partial([text("It is ")])
    assert speech.open_text == start.message_id  # type: ignore[attr-defined]
    rest, message_id = speech.whole([text("It is far.")], "e1")
    assert types(rest) == ["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    assert first.delta + rest[0].delta == "It is far."  # type: ignore[attr-defined]
    assert message_id == start.message_id  # type: ignore[attr-defined]
    assert not speech.is_garbled


def test_an_event_without_pieces_is_a_message_of_its_own_id() -> None:
    """Opened, said and closed at once; the next one is another message."""
    speech = Speech("a", {})
    said, message_id = speech.whole([text("Yes.")], "e1")
    assert types(said) == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    assert message_id == "e1"
    assert speech.whole([text("No.")], "e2")[1] == "e2"


def test_thoughts_and_text_alternate() -> None:
    """One of them is open at a time; a text that goes on keeps its id, so that its pieces are joined."""
    speech = Speech("a", {})
    events = [one for part in (text("A"), thought("hm"), text("B")) for one in speech.partial([part])]
    opened = [one.message_id for one in events if one.type.value == "TEXT_MESSAGE_START"]  # type: ignore[attr-defined]
    assert len(opened) == 2
    assert len(set(opened)) == 1
    rest, _ = speech.whole([text("A"), thought("hm"), text("B")], "e1")
    assert types(rest) == ["TEXT_MESSAGE_END"]


def test_a_text_that_lost_pieces_is_known() -> None:
    """Then the client is to be given all messages anew."""
    speech = Speech("a", {})
    speech.partial([text("It far.")])
    speech.whole([text("It is far.")], "e1")
    assert speech.is_garbled


def test_nothing_is_said_without_words() -> None:
    """No event for an empty piece, none for closing what is closed."""
    speech = Speech("a", {})
    assert speech.partial([text("")]) == []
    assert speech.close() == []
    assert speech.whole([], "e1") == ([], "e1")
