"""read_docstring."""

from __future__ import annotations

import docstring_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.tools.docstring import Docs, read_docstring

GOOGLE = """Current weather.

    Where the user is by default.

    Args:
        city: Name of the city,
            in English.
        unit (str): Temperature unit.

    Returns:
        A dict.
    """
NUMPY = """Current weather.

    Where the user is by default.

    Parameters
    ----------
    city : str
        Name of the city,
        in English.
    unit : str, optional
        Temperature unit.
    """
REST = """Current weather.

    Where the user is by default.

    :param city: Name of the city,
        in English.
    :param str unit: Temperature unit.
    :returns: A dict.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_styles(text: str) -> None:
    """Google, NumPy and reST docstrings give the description without sections, and each parameter's in one line."""
    assert read_docstring(text) == Docs(
        "Current weather.\n\nWhere the user is by default.",
        {"city": "Name of the city, in English.", "unit": "Temperature unit."},
    )


@pytest.mark.parametrize("text", [None, "", "  \n "])
def test_nothing(text: str | None) -> None:
    """Without a docstring there is no description."""
    assert read_docstring(text) == Docs("", {})


def test_plain_text() -> None:
    """A text without sections is a description as a whole."""
    assert read_docstring("Exits the loop.\n\n    Only when asked.\n    ").description == (
        "Exits the loop.\n\nOnly when asked."
    )


def test_what_cannot_be_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A docstring that no style allows is a description as a whole, not an error."""

    def refuse(text: str) -> object:
        raise docstring_parser.ParseError(text)

    assert read_docstring("Weather.\n\n:param") == Docs("Weather.\n\n:param", {})
    monkeypatch.setattr(docstring_parser, "parse", refuse)
    assert read_docstring("Weather.\n\n    Args:\n        a: A.\n    ") == Docs("Weather.\n\nArgs:\n    a: A.", {})


@given(st.text())
def test_never_fails(text: str) -> None:
    """No docstring makes a tool fail."""
    assert isinstance(read_docstring(text), Docs)
