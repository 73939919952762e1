"""Screen: what a person at a terminal, or a program behind a pipe, gets to see."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Sequence

__all__ = ["PlainScreen", "Screen"]


class Screen:
    """Answers and tables go to stdout, notes about the run to stderr; everything is flushed as it comes.

    A model, a tool or a stored event may hold escape sequences; none of their control characters reaches the screen.
    """

    def __init__(self) -> None:
        self._in_line = False

    def answer(self, text: str) -> None:
        """A piece of an answer, as it is; no line break is added."""
        if text:
            sys.stdout.write(_printable(text))
            sys.stdout.flush()
            self._in_line = not text.endswith("\n")

    def end_line(self) -> None:
        """Begin a new line, unless the last one has just ended."""
        if self._in_line:
            self.answer("\n")

    def line(self, text: str) -> None:
        """A whole line on stdout."""
        self.end_line()
        self.answer(f"{text}\n")

    def note(self, text: str) -> None:
        """A line about the run: a tool call, a stop."""
        self.end_line()
        self._show_note(_printable(text))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Rows under column names."""
        self.end_line()
        self._show_table(columns, [[_in_one_line(cell) for cell in row] for row in rows])

    def _show_note(self, text: str) -> None:
        raise NotImplementedError

    def _show_table(self, columns: Sequence[str], rows: list[list[str]]) -> None:
        raise NotImplementedError


class PlainScreen(Screen):
    """Text without any escape codes."""

    def _show_note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def _show_table(self, columns: Sequence[str], rows: list[list[str]]) -> None:
        lines = [list(columns), *rows]
        widths = [max(len(line[number]) for line in lines) for number in range(len(columns))]
        for line in lines:
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            print("  ".join(cells).rstrip(), flush=True)


def _printable(text: str) -> str:
    """The text without control characters, line breaks and tabs excepted."""
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) != "Cc")


def _in_one_line(text: str) -> str:
    return " ".join(_printable(text).split())
