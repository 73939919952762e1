"""RichScreen: a terminal with colours."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .screen import Screen

__all__ = ["RichScreen"]


class RichScreen(Screen):
    """Notes are dim, tables are drawn; an answer is the plain text that it is. Honours NO_COLOR."""

    def __init__(self) -> None:
        super().__init__()
        self._out = Console(highlight=False)
        self._notes = Console(stderr=True, highlight=False)

    def _show_note(self, text: str) -> None:
        self._notes.print(Text(text, style="dim"), soft_wrap=True)

    def _show_table(self, columns: Sequence[str], rows: list[list[str]]) -> None:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for name in columns:
            table.add_column(name, overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self._out.print(table)
