"""Screens: plain behind a pipe, with colours at a terminal."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from rxagent.cli.open_screen import open_screen
from rxagent.cli.screen import PlainScreen, Screen

needs_rich = pytest.mark.skipif(importlib.util.find_spec("rich") is None, reason="needs the extra `cli`")


def _rich() -> Screen:
    from rxagent.cli.screen_rich import RichScreen

    return RichScreen()


def test_behind_a_pipe_it_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal no colours are used, whatever is installed."""
    assert isinstance(open_screen(), PlainScreen)


@needs_rich
def test_at_a_terminal_it_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal rich is used when it is there, and not missed when it is not."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert type(open_screen()).__name__ == "RichScreen"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert isinstance(open_screen(), PlainScreen)


@pytest.mark.parametrize("make", [PlainScreen, pytest.param(_rich, marks=needs_rich)])
def test_answers_keep_their_text_and_lines_are_whole(make: type[Screen], capsys: pytest.CaptureFixture[str]) -> None:
    """An answer is written as it is, marks of rich and all; a note, a line or a table begins a line of its own."""
    screen = make()
    screen.answer("[bold]one[/bold] ")
    screen.answer("two")
    screen.note("a [red]note[/red]")
    screen.end_line()
    screen.line("three")
    screen.table(("name", "n"), [("first", "1"), ("x\ny", "20")])
    shown = capsys.readouterr()
    assert shown.out.startswith("[bold]one[/bold] two\nthree\n")
    rows = [line.split() for line in shown.out.splitlines() if "first" in line or "20" in line]
    assert rows == [["first", "1"], ["x", "y", "20"]]
    assert shown.err == "a [red]note[/red]\n"


@pytest.mark.parametrize("make", [PlainScreen, pytest.param(_rich, marks=needs_rich)])
def test_no_control_character_of_a_text_reaches_the_screen(
    make: type[Screen], capsys: pytest.CaptureFixture[str]
) -> None:
    """A text cannot move the cursor, ring the bell or set the title: its control characters are left out."""
    screen = make()
    evil = "a\x1b]0;title\x07b\rc\x9b31md\te"
    screen.line(evil)
    screen.note(evil)
    screen.table(("x",), [(evil,)])
    shown = capsys.readouterr()
    assert not set("\x1b\x07\r\x9b") & set(shown.out + shown.err)
    assert "a]0;titlebc31md\te\n" in shown.out


def test_columns_are_as_wide_as_their_cells(capsys: pytest.CaptureFixture[str]) -> None:
    """A plain table lines its columns up and leaves no blanks at the ends of lines."""
    PlainScreen().table(("a", "long name"), [("wide cell", "1")])
    assert capsys.readouterr().out == "a          long name\nwide cell  1\n"
