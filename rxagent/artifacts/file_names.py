"""Names of folders for whatever people call their apps, users, sessions and files."""

from __future__ import annotations

import hashlib
import re
from typing import Final
from urllib.parse import unquote

__all__ = ["folder_name", "name_of_folder"]

_PLAIN: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-.")
_LONGEST: Final = 200  # bytes; file systems take 255
_CUT: Final = "%."  # no such escape exists: what follows is a hash
_CUT_NAME: Final = re.compile(r"%\.[0-9a-f]{32}")


def folder_name(name: str) -> str:
    """A folder's name for any text: never a path, never hidden, never too long; two texts never share one.

    Percent-encoded UTF-8 but for lower-case letters, digits and `_-.`; a leading dot, too, and upper-case letters,
    because some file systems do not tell them from lower-case ones. Too long a name is cut, and ends in its hash.
    """
    raw = name.encode("utf-8", "surrogatepass")
    encoded = "".join(
        chr(byte) if byte in _PLAIN and (index or byte != 0x2E) else f"%{byte:02X}" for index, byte in enumerate(raw)
    )
    if not encoded:
        return "%"
    if len(encoded) <= _LONGEST:
        return encoded
    return encoded[:_LONGEST] + _CUT + hashlib.sha256(raw).hexdigest()[:32]


def name_of_folder(folder: str) -> str | None:
    """The text that the folder stands for; None when it was too long, so that only the hash tells."""
    if _CUT_NAME.fullmatch(folder[-34:]):
        return None
    return "" if folder == "%" else unquote(folder, errors="surrogatepass")
