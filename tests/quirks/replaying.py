"""What the tests of the corpus share: cuts, quirks as parameters, and what must hold of any answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import strategies as st

from rxagent.events import Part
from rxagent.models import LlmResponse
from rxagent.testing.quirks_corpus import quirks
from rxagent.testing.quirks_file import Quirk
from rxagent.testing.quirks_reading import Responses

__all__ = ["check", "cut_at", "cuts_of", "each"]


def each(chosen: Iterable[Quirk] | None = None, *, reads: bool = True) -> pytest.MarkDecorator:
    """The test gets each of these quirks; one that is marked open must fail. reads: rxagent's client is what reads."""
    must_fail = pytest.mark.xfail(strict=True, reason="marked as open in its file")
    return pytest.mark.parametrize(
        "quirk",
        [
            pytest.param(one, id=one.name, marks=[must_fail] if one.open and reads else [])
            for one in (quirks() if chosen is None else chosen)
        ],
    )


def cuts_of(content: bytes) -> st.SearchStrategy[list[int]]:
    """Places where content may be cut."""
    return st.lists(st.integers(0, len(content)), max_size=12)


def cut_at(content: bytes, places: Iterable[int]) -> list[bytes]:
    """The pieces of content between these places."""
    edges = sorted({0, len(content), *(place for place in places if place < len(content))})
    return [content[start:end] for start, end in itertools.pairwise(edges)]


def check(quirk: Quirk, got: Responses) -> None:
    """The answer is what the quirk's file expects, and holds together in itself."""
    assert got.reading == quirk.expected, got.error
    partials = [one for one in got.responses if one.partial]
    for one in partials:
        assert one.content is not None
        assert one.content.parts
        assert all(part.text and part.function_call is None for part in one.content.parts), (
            "an empty partial, or a call"
        )
    if got.error is not None:
        assert len(partials) == len(got.responses)
        assert getattr(got.error, "text", got.reading.text) == got.reading.text
        return
    assert len(got.responses) == len(partials) + 1
    for thought in (True, False):
        pieces = [part.text or "" for one in partials for part in _parts(one) if bool(part.thought) == thought]
        if pieces:  # a body that does not stream has none
            assert "".join(pieces) == (got.reading.thought if thought else got.reading.text)
    ids = [call.id or "" for call in got.calls]
    assert "" not in ids
    assert len(set(ids)) == len(ids), "two calls share an id"
    assert [mine for mine, asked in zip(ids, quirk.ids, strict=True) if asked] == [one for one in quirk.ids if one]
    repr(got.reading).encode()  # no half characters


def _parts(response: LlmResponse) -> Iterable[Part]:
    content = response.content
    return content.parts or () if content is not None else ()
