"""Content: what a caller may give as a message, and its text."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.events import Content, Message, Part

HI = Part(text="Hi")


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("Hi", Content(role="user", parts=(HI,))),
        ("", Content(role="user", parts=(Part(text=""),))),
        (HI, Content(role="user", parts=(HI,))),
        ([HI, HI], Content(role="user", parts=(HI, HI))),
        ((HI,), Content(role="user", parts=(HI,))),
        ([], Content(role="user", parts=())),
        (Content(parts=(HI,)), Content(role="user", parts=(HI,))),
        (Content(role="model", parts=(HI,)), Content(role="model", parts=(HI,))),
    ],
)
def test_what_is_a_message(message: Message, content: Content) -> None:
    """A text, a Content, a Part or several Parts; without a role it is the user's."""
    assert Content.of(message) == content


def test_a_generator_of_parts_is_a_message() -> None:
    """Any iterable of Parts will do."""
    assert Content.of(part for part in (HI, HI)) == Content(role="user", parts=(HI, HI))


@pytest.mark.parametrize("message", [None, 7, b"Hi", {"text": "Hi"}, ["Hi"], [HI, "Hi"]])
def test_what_is_no_message(message: Any) -> None:
    """Anything else is a TypeError at the call that says what to give."""
    with pytest.raises(TypeError, match=r"a message is a text, a Content, or a list of Parts, not"):
        Content.of(message)


def test_text_leaves_out_thoughts() -> None:
    """The text of a content is that of its parts, joined, without thoughts."""
    parts = (Part(text="hm", thought=True), Part(text="a"), Part(), Part(text="b", thought=False))
    assert Content(parts=parts).text == "ab"
    assert Content().text == ""


def test_short_forms() -> None:
    """`user` and `model` make a content of one text."""
    assert Content.user("Hi") == Content(role="user", parts=(HI,))
    assert Content.model("Hi") == Content(role="model", parts=(HI,))
