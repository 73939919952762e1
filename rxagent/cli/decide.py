"""Asking the person at the terminal what to answer to an open question."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from rxagent.events import Content
from rxagent.sessions import Question

from .in_words import question_in_words
from .screen import Screen

__all__ = ["answered_with", "decide"]

_CONFIRM: Final = "Approve? [y/n, Enter: later] "
_ANSWER: Final = "Result (JSON or text, Enter: later) "


def decide(question: Question, screen: Screen, read: Callable[[str], str | None]) -> Content | None:
    """The message that answers the question; None for later. read(prompt): a line, None when the user leaves."""
    screen.note(question_in_words(question))
    while True:
        line = (read(_CONFIRM if question.kind == "confirmation" else _ANSWER) or "").strip()
        if not line:
            return None
        if question.kind == "answer":
            return question.answer(answered_with(line))
        if line.lower() in ("y", "yes"):
            return question.approve()
        if line.lower() in ("n", "no"):
            return question.reject()
        screen.note("Type y to let it run, n to refuse it, nothing to decide later.")


def answered_with(text: str) -> dict[str, Any]:
    """A JSON object as it is; anything else as `{"result": ...}`."""
    try:
        value: object = json.loads(text)
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"result": value}
