"""The arguments of one call in assembly: fragments of JSON text, or an object; whole, half, or neither."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, final

from rxagent.errors import ModelProtocolError, ModelStreamTruncatedError

from .wire_text import MANY_PIECES, joined, mended, value_of

__all__ = ["Arguments", "begins_arguments"]

_SIGNS: Final = re.compile(r'["\\{}\[\]]')
_NESTING: Final = {"{": 1, "[": 1, "}": -1, "]": -1}


def begins_arguments(value: object) -> bool:
    """True for what can stand at the beginning of a call's arguments: an object, its text, or nothing yet."""
    if isinstance(value, str):
        text = value.lstrip()
        return not text or text[0] == "{"
    return value is None or isinstance(value, dict)


@final
class Arguments:
    """Collects what a server sends as arguments.

    State: `empty`, `open` (some text, its outermost bracket not closed), `whole`. It is found by reading each
    fragment once, and only when somebody asks: arguments of any length in pieces of any size cost linear time.
    """

    __slots__ = ("_depth", "_escaped", "_in_string", "_object", "_pieces", "_read", "_size")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0
        self._object: Mapping[str, Any] | None = None  # what came as an object, not as text
        self._read = 0  # pieces that the scan has read
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def add(self, value: object) -> None:
        """Take a fragment. An object stands for the whole; a repeat of what is whole adds nothing."""
        if isinstance(value, str):
            if value and not (self._size == len(value) and self.is_whole and self.text == value):
                self._pieces.append(value)
                self._size += len(value)
                if len(self._pieces) == MANY_PIECES:
                    self._put_together()
        elif isinstance(value, dict):
            self._object = value
        elif value is not None and value != []:
            raise ModelProtocolError(
                f"the arguments of the model's call are a {type(value).__name__}, not an object; ask again"
            )

    @property
    def size(self) -> int:
        """Characters that came as text."""
        return self._size

    @property
    def text(self) -> str:
        """What came as text."""
        if len(self._pieces) > 1:
            self._put_together()
        return joined(self._pieces)

    @property
    def is_empty(self) -> bool:
        """True when nothing has come but blanks."""
        return self._object is None and not any(piece.strip() for piece in self._pieces)

    @property
    def is_whole(self) -> bool:
        """True when the outermost bracket of what came is closed."""
        if self._object is not None:
            return True
        self._scan_new()
        return self._size > 0 and not self._in_string and self._depth <= 0 and not self.is_empty

    def is_repeated_by(self, value: object) -> bool:
        """True when the fragment says once more what is here."""
        return value == self._object if isinstance(value, dict) else value == self.text

    def value(self, name: str, most: int) -> dict[str, Any]:
        """The arguments of the call `name`; none are {}.

        Raises ModelStreamTruncatedError for half of them, ModelProtocolError for what is no JSON object,
        ModelAnswerTooLargeError for what takes more memory than `most` bytes allow.
        """
        if self._object is not None:
            return dict(mended(self._object))
        text = self.text.strip()
        if text in ("", "null", "[]"):  # `[]` is PHP's empty object
            return {}
        try:
            found = value_of(text, most)
            if isinstance(found, str):  # encoded twice
                found = value_of(found, most)
        except ValueError:
            if not self.is_whole:
                raise ModelStreamTruncatedError(
                    f"the model's call of {name!r} stops in the middle of its arguments and is not executed; "
                    "raise max_output_tokens, or ask again"
                ) from None
            found = None
        if not isinstance(found, dict):
            raise ModelProtocolError(
                f"the arguments of the model's call of {name!r} are no JSON object: {text[:200]!r}; ask again"
            )
        return found

    def _put_together(self) -> None:
        self._scan_new()
        self._pieces, self._read = ["".join(self._pieces)], 1

    def _scan_new(self) -> None:
        for piece in self._pieces[self._read :]:
            self._scan(piece)
        self._read = len(self._pieces)

    def _scan(self, piece: str) -> None:
        at = 0  # signs before it are escaped
        if self._escaped and piece:
            self._escaped, at = False, 1
        for found in _SIGNS.finditer(piece):
            if found.start() < at:
                continue
            sign = found.group()
            if sign == '"':
                self._in_string = not self._in_string
            elif sign == "\\":
                at = found.start() + 2
                self._escaped = at > len(piece)
            elif not self._in_string:
                self._depth += _NESTING[sign]
