"""AnswerWriter: shows the events of a run as they come."""

from __future__ import annotations

from typing import final

from rxagent.events import Event
from rxagent.history.sealing import ABORTED

from .in_words import call_in_words, response_in_words
from .screen import Screen

__all__ = ["AnswerWriter"]


@final
class AnswerWriter:
    """Text as it streams; calls, results and errors as notes.

    partial  It is --21.----------       shown at once
    final    ---------(It is 21.)-       shown only where the partials have not said it
    """

    __slots__ = ("_authors", "_screen", "_unsaved")

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._unsaved: dict[str | None, str] = {}
        self._authors: list[str | None] = []

    @property
    def unsaved(self) -> int:
        """Characters that were shown and are in no final event so far."""
        return sum(len(text) for text in self._unsaved.values())

    def show(self, event: Event) -> None:
        """Show one event."""
        if event.text:
            self._announce(event.author)
        if event.partial:
            self._unsaved[event.author] = self._unsaved.get(event.author, "") + event.text
            self._screen.answer(event.text)
            return
        if event.text or event.error_code != ABORTED:  # what tells of a stop saves nothing of the answer
            self._finish(event.text, self._unsaved.pop(event.author, ""))
        for call in event.function_calls:
            self._screen.note(call_in_words(call))
        for response in event.function_responses:
            self._screen.note(response_in_words(response))
        if event.error_code and event.error_code != ABORTED:  # the command itself tells of a stop
            self._screen.note(f"{event.error_code}: {event.error_message or 'no message'}")

    def _announce(self, author: str | None) -> None:
        """Name the speaker where it changes."""
        if not self._authors or self._authors[-1] != author:
            if self._authors:
                self._screen.note(f"[{author}]")
            self._authors.append(author)

    def _finish(self, whole: str, shown: str) -> None:
        """A text is final: say what the partials have not said of it."""
        if whole.startswith(shown):
            self._screen.answer(whole.removeprefix(shown))
        elif whole:  # something replaced what was streamed
            self._screen.line(whole)
        if whole:
            self._screen.end_line()
