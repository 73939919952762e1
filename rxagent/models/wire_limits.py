"""How large the pieces of a server's answer may be, and what memory reading one takes."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Final, Literal, TypeAlias, final

from rxagent.errors import ConfigError, ModelAnswerTooLargeError

__all__ = ["LimitName", "WireLimits", "check_memory", "too_large"]

LimitName: TypeAlias = Literal["line", "event", "body", "answer"]

_MIB: Final = 2**20
_ROOM: Final = 7 * _MIB  # that reading may take above the limit; what is left of 8 MiB is for buffers
_SMALL: Final = 64 * 2**10  # bytes; whatever they hold, reading them takes 2 MiB at most
_SIGN: Final = 112  # bytes that a value takes for each of its signs: measured, deep objects take the most
_SIGNS: Final = (b"{", b"[", b",", b":", b"\n")
_TOKENS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{\[,:\n]', re.S)  # a whole string, or a sign
_FOUR_BYTES: Final = re.compile(rb"[\xf0-\xff]")
_HALF: Final = re.compile(rb"\\u[dD]")


@final
@dataclass(frozen=True, slots=True)
class WireLimits:
    """What a model's answer may have at most, in bytes; more is a ModelAnswerTooLargeError, which names the limit.

    line: a line of a stream. event: the data of one event, all its lines. body: an answer that is one JSON body.
    answer: text, reasoning and arguments of a whole answer.

    Reading an event, or a body, takes no more memory than its limit and 8 MiB, whatever the server sends: one that
    would take more when its JSON is read (many small objects, mixed scripts) is too large, though its bytes are not.
    An image of 20 MiB in base64 wants 40 MiB: its bytes, and the text that is made of them.
    """

    line: int = 16 * _MIB
    event: int = 16 * _MIB
    body: int = 32 * _MIB
    answer: int = 8 * _MIB

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value <= 0:
                raise ConfigError(f"the {field.name} limit is {value} bytes; give a positive number of bytes")


def too_large(limit: LimitName, most: int, what: str = "") -> ModelAnswerTooLargeError:
    """The error for a limit that is passed."""
    what = what or f"the server sent {'an' if limit[0] in 'ae' else 'a'} {limit} of more than {most} bytes"
    return ModelAnswerTooLargeError(
        f"{what}; raise WireLimits({limit}=...) if answers of this model need more", limit=limit, most=most
    )


def check_memory(data: bytes, most: int, limit: LimitName, *, copies: int = 0) -> None:
    """Raise ModelAnswerTooLargeError when reading this JSON would take more than 8 MiB above `most` bytes.

    copies: how often the reader copies its text besides. What stands here is a bound, not an estimate: strings count
    as if the whole were one, and each sign outside of strings as the most that a value can take.
    """
    if len(data) <= _SMALL:
        return
    left = most + _ROOM - len(data) * 9 // 8 - len(data) * (_widths(data) + copies)
    signs = sum(map(data.count, _SIGNS))
    if left < 0 or (signs * _SIGN > left and _has_signs(data, left // _SIGN)):
        raise too_large(limit, most, f"reading what the server sent would take more than {most} bytes and 8 MiB")


def _widths(data: bytes) -> int:
    """bytes that the strings of this JSON take while they are made, for each byte of it."""
    unescaped = 0 if b"\\" not in data else 1  # a string is put together before it is made
    if data.isascii() and b"\\u" not in data:
        return 1 + unescaped
    if _FOUR_BYTES.search(data) or _HALF.search(data):
        return 5 + unescaped  # four bytes for each character, after one for each up to the first wide one
    return 3 + unescaped


def _has_signs(data: bytes, most: int) -> bool:
    """True for more than so many signs outside of strings."""
    count = 0
    for found in _TOKENS.finditer(data):
        count += found.end() - found.start() == 1
        if count > most:
            return True
    return False
