"""Texts out of pieces; pieces may be cut in the middle of a character's two UTF-16 halves."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from pydantic_core import from_json

from .wire_limits import LimitName, check_memory

__all__ = ["MANY_PIECES", "TextPieces", "chunk_of", "is_whole", "joined", "mended", "name_of", "text_of", "value_of"]

MANY_PIECES: Final = 4096
"""So many are put together: small ones take many times the memory of their text."""

_DEEPEST: Final = 200  # as deep as the reader of JSON goes
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


def chunk_of(data: bytes, most: int, limit: LimitName) -> Any:
    """The JSON value of a text in UTF-8. Raises ValueError; ModelAnswerTooLargeError, as `check_memory` does.

    Servers that cut texts by UTF-16 units send halves of characters as escapes, which only a lenient reader takes, as
    it does bytes that are no UTF-8.
    """
    check_memory(data, most, limit)
    try:
        return from_json(data)
    except ValueError:
        has_halves = b"\\ud" in data or b"\\uD" in data
        if data.isascii() and not has_halves:
            raise
    check_memory(data, most, limit, copies=8)  # the text in wide characters, and in UTF-8
    text = data.decode("utf-8", "replace")
    try:
        return json.loads(text) if has_halves else from_json(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def mended(value: Any) -> Any:
    """The JSON value with all its texts mended: halves of characters cannot be stored."""
    if isinstance(value, str):
        return joined((value,))
    if isinstance(value, dict):
        return {joined((key,)): mended(item) for key, item in value.items()}
    return [mended(item) for item in value] if isinstance(value, list) else value


def is_whole(value: object, depth: int = 0) -> bool:
    """True for a JSON value that can be stored: no halves of characters, not too deep."""
    if isinstance(value, str):
        return value.isascii() or not _has_halves(value)
    if depth > _DEEPEST:
        return False
    if isinstance(value, dict):
        return all(is_whole(key) and is_whole(item, depth + 1) for key, item in value.items())
    return not isinstance(value, list) or all(is_whole(item, depth + 1) for item in value)


def value_of(text: str, most: int) -> Any:
    """The JSON value of a mended text, mended. Raises as `chunk_of` does: it is a part of an answer."""
    data = text.encode("utf-8", "replace")
    check_memory(data, most, "answer", copies=1)
    value = chunk_of(data, most, "answer")
    return mended(value) if b"\\u" in data else value


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
            if len(self._pieces) == MANY_PIECES:
                self._pieces = ["".join(self._pieces)]
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
