"""Texts out of pieces; pieces may be cut in the middle of a character's two UTF-16 halves."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from pydantic_core import from_json

__all__ = ["TextPieces", "chunk_of", "joined", "mended", "name_of", "text_of", "value_of"]

_HIGH: Final = ("\ud800", "\udbff")


def text_of(value: object) -> str:
    """The value if it is a text, else the empty one."""
    return value if isinstance(value, str) else ""


def name_of(value: object) -> str:
    """As `text_of`, without halves of characters: a text that comes in one piece."""
    return joined((value,)) if isinstance(value, str) else ""


def joined(pieces: Iterable[str]) -> str:
    """The pieces as one text; halves of a character that meet become whole, others the replacement sign."""
    text = "".join(pieces)
    return text if text.isascii() or not _has_halves(text) else _mended(text)


def chunk_of(text: str) -> Any:
    """The JSON value of a text. Raises ValueError.

    Servers that cut texts by UTF-16 units send halves of characters as escapes, which only a lenient reader takes.
    """
    try:
        return from_json(text)
    except ValueError:
        if "\\ud" not in text and "\\uD" not in text:
            raise
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def mended(value: Any) -> Any:
    """The JSON value with all its texts mended: halves of characters cannot be stored."""
    if isinstance(value, str):
        return joined((value,))
    if isinstance(value, dict):
        return {joined((key,)): mended(item) for key, item in value.items()}
    return [mended(item) for item in value] if isinstance(value, list) else value


def value_of(text: str) -> Any:
    """The JSON value of a text, mended. Raises ValueError."""
    try:
        return from_json(text)
    except ValueError:
        return mended(chunk_of(text))


class TextPieces:
    """A text that grows. A half of a character waits for the other one, which comes with the next piece."""

    __slots__ = ("_held", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._held = ""

    def __bool__(self) -> bool:
        return bool(self._pieces or self._held)

    def add(self, piece: str) -> str:
        """Take a piece; returns what of it can be shown now."""
        if self._held or not piece.isascii():
            piece, self._held = self._held + piece, ""
            if _HIGH[0] <= piece[-1:] <= _HIGH[1]:
                piece, self._held = piece[:-1], piece[-1]
            piece = joined((piece,))
        if piece:
            self._pieces.append(piece)
        return piece

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._pieces) + joined((self._held,))


def _has_halves(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _mended(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
