"""httpx-sse as a second reader of the framing: of the corpus, and of what mutations make of it."""

from __future__ import annotations

import itertools
import random

import httpx
from httpx_sse import EventSource
from hypothesis import given, settings
from hypothesis import strategies as st

from rxagent.models.sse import SseParser
from rxagent.testing.quirks_corpus import quirks
from rxagent.testing.quirks_file import Quirk
from rxagent.testing.quirks_fuzz import mutated

from .replaying import cut_at, cuts_of, each

BODIES = [one.body for one in quirks()]
BOM = b"\xef\xbb\xbf"


def mine(pieces: list[bytes]) -> list[tuple[str, str, str]]:
    """Name, data and id of the events as rxagent frames them."""
    parser = SseParser()
    events = list(itertools.chain.from_iterable(parser.feed(piece) for piece in pieces))
    parser.close()
    return [(one.event, one.data.decode("utf-8", "replace"), one.id) for one in events if one.data]


def theirs(pieces: list[bytes]) -> list[tuple[str, str, str]]:
    """The same of httpx-sse, without the events that it dispatches against the standard: those without data."""
    response = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=iter(pieces))
    return [(one.event, one.data, one.id) for one in EventSource(response).iter_sse() if one.data]


@each((one for one in quirks() if one.is_bytes), reads=False)
@given(data=st.data())
@settings(max_examples=5, deadline=None)
def test_the_corpus_is_framed_as_httpx_sse_frames_it(quirk: Quirk, data: st.DataObject) -> None:
    """The events of a quirk are those that httpx-sse finds, however it is cut (which knows no byte order mark)."""
    body = quirk.body.removeprefix(BOM)
    pieces = cut_at(body, data.draw(cuts_of(body)))
    assert mine(pieces) == theirs(pieces)
    assert mine([quirk.body]) == mine([body])


@given(seed=st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_mutated_streams_are_framed_as_httpx_sse_frames_them(seed: int) -> None:
    """What random mutations make of the corpus is framed alike."""
    dice = random.Random(seed)
    body = mutated(BODIES, dice).replace(BOM, b"")
    pieces = cut_at(body, [dice.randrange(len(body) + 1) for _ in range(5)])
    assert mine(pieces) == theirs(pieces)
