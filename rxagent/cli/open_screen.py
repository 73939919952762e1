"""The screen that fits where the command runs."""

from __future__ import annotations

import importlib.util
import sys

from .screen import PlainScreen, Screen

__all__ = ["open_screen"]


def open_screen() -> Screen:
    """With colours when stdout is a terminal and rich is installed, else plain."""
    if sys.stdout.isatty() and importlib.util.find_spec("rich") is not None:
        from .screen_rich import RichScreen

        return RichScreen()
    return PlainScreen()
