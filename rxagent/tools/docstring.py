"""Docstrings: what a function says of itself and of its parameters."""

from __future__ import annotations

import inspect
from typing import NamedTuple

__all__ = ["Docs", "read_docstring"]


class Docs(NamedTuple):
    """The description without the sections, and the parameters' descriptions by name."""

    description: str
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Docs:
    """Read a docstring in Google, NumPy, reST or Epydoc style, whichever fits best.

    One that cannot be parsed is a description as a whole. Line breaks in a parameter's description become spaces.
    """
    if not text or not text.strip():
        return Docs("", {})
    import docstring_parser  # at first use: agents are often made and never run

    text = inspect.cleandoc(text)
    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return Docs(text, {})
    description = "\n\n".join(part for part in (parsed.short_description, parsed.long_description) if part)
    parameters = {param.arg_name: " ".join(param.description.split()) for param in parsed.params if param.description}
    return Docs(description, parameters)
