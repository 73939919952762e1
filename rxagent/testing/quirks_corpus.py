"""The quirk corpus: how chat-completions servers deviate, with what must come of it."""

from __future__ import annotations

import difflib
import functools
from pathlib import Path

from rxagent.errors import UsageError

from .quirks_file import Quirk, load_quirk

__all__ = ["quirk", "quirks"]


@functools.cache
def quirks() -> tuple[Quirk, ...]:
    """All quirks that come with rxagent, by name.

    for quirk in quirks():
        assert my_client.read(quirk.body) == quirk.expected.text

    `load_quirk` reads one more from a file of yours.
    """
    return tuple(load_quirk(path) for path in sorted(Path(__file__).with_name("quirk_data").glob("*.toml")))


def quirk(name: str) -> Quirk:
    """The quirk of this name. Raises UsageError, with the names that are near it, when there is none."""
    known = {one.name: one for one in quirks()}
    if name not in known:
        near = ", ".join(difflib.get_close_matches(name, known, n=3)) or "see: rxagent quirks list"
        raise UsageError(f"there is no quirk {name!r}; {near}")
    return known[name]
