"""Server-sent events: the cases of the standard, any cut of the bytes, and a second reader for comparison."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import ModelAnswerTooLargeError
from rxagent.models.sse import SseEvent, SseParser
from rxagent.models.wire_limits import WireLimits

CASES: dict[str, tuple[list[bytes], list[str]]] = {
    "lf": ([b"data: a\n\ndata: b\n\n"], ["a", "b"]),
    "crlf": ([b"data: a\r\n\r\ndata: b\r\n\r\n"], ["a", "b"]),
    "cr": ([b"data: a\r\rdata: b\r\r"], ["a", "b"]),
    "split between cr and lf": ([b"data: a\r", b"\n\r", b"\ndata: b\r\n\r\n"], ["a", "b"]),
    "split at the end of an event": ([b"data: a\n", b"\ndata: b\n\n"], ["a", "b"]),
    "a whole event in a read, after half a one": ([b"data: a\n", b"data: b\n\n"], ["a\nb"]),
    "a whole event in a read, after half a line": ([b"x", b"data: b\n\n", b"data: c\n\n"], ["c"]),
    "bom": ([b"\xef\xbb\xbfdata: a\n\n"], ["a"]),
    "several data lines": ([b"data: a\ndata: b\ndata\ndata: c\n\n"], ["a\nb\n\nc"]),
    "comment": ([b": hi\n\ndata: a\n:x\n\n"], ["a"]),
    "no space, two spaces": ([b"data:a\n\ndata:  a\n\n"], ["a", " a"]),
    "split character": ([b"data: \xe2\x82", b"\xac\n\n"], ["\u20ac"]),
    "other line separators are text": (["data: a\u2028b\u0085c\x0cd\x1ce\n\n".encode()], ["a\u2028b\u0085c\x0cd\x1ce"]),
    "incomplete last event": ([b"data: a\n\ndata: b\n"], ["a"]),
    "event without data": ([b"event: x\n\ndata: a\n\n"], ["a"]),
    "empty data": ([b"data\n\ndata:\n\n"], ["", ""]),
    "byte by byte": ([bytes([byte]) for byte in "data: h\u00e9\r\n\r\ndata: b\n\n".encode()], ["h\u00e9", "b"]),
    "bytes that are no utf-8": ([b"data: a\xffb\n\n"], ["a\ufffdb"]),
}

_LINES = st.sampled_from(
    [
        *(b"data: a", b"data:b", b"data", b"data:  c", "data: \u20ac\u2028\U0001f600".encode(), b""),
        *(b": comment", b"event: e", b"id: 7", b"id: a\0b", b"retry: 10", b"retry: x"),
        *(b"x: y", b"datax: 1", b" data: 1"),
    ]
)
_STREAMS = st.lists(st.tuples(_LINES, st.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=30).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


def parsed(pieces: list[bytes]) -> list[SseEvent]:
    """The events of a stream that comes in these pieces."""
    parser = SseParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    parser.close()
    return events


@pytest.mark.parametrize("name", CASES)
def test_the_standard(name: str) -> None:
    """Each case of the standard gives its data."""
    pieces, expected = CASES[name]
    assert [event.data.decode("utf-8", "replace") for event in parsed(pieces)] == expected


def test_fields() -> None:
    """Name, id and retry are kept as the standard says: an id lasts, NUL is no id, letters no retry."""
    stream = b"id: 1\nevent: e\nretry: 10\ndata: a\n\nid: 2\x00\ndata: b\n\nretry: x\ndata: c\n\n"
    assert parsed([stream]) == [("e", b"a", "1", 10), ("message", b"b", "1", 10), ("message", b"c", "1", 10)]


@given(stream=_STREAMS, cuts=st.lists(st.integers(0, 400), max_size=12))
def test_any_cut_gives_the_same(stream: bytes, cuts: list[int]) -> None:
    """However the bytes are cut, the events are the same; one byte a piece included."""
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    pieces = [stream[start:end] for start, end in itertools.pairwise(edges)]
    whole = parsed([stream])
    assert parsed(pieces) == whole
    assert parsed([stream[index : index + 1] for index in range(len(stream))]) == whole


@given(stream=_STREAMS)
def test_as_httpx_sse(stream: bytes) -> None:
    """httpx-sse reads the same events, apart from those without data, which it dispatches against the standard."""
    pytest.importorskip("httpx", reason="httpx-sse cannot be imported without httpx")
    from httpx_sse._decoders import SSEDecoder

    decoder = SSEDecoder()
    lines = stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode().split("\n")[:-1]
    theirs = [event for line in lines if (event := decoder.decode(line)) is not None]
    mine = parsed([stream])
    assert [(event.data.decode(), event.id) for event in mine if event.data] == [
        (event.data, event.id) for event in theirs if event.data
    ]


@pytest.mark.parametrize(
    ("limits", "piece", "fits"),
    [
        (WireLimits(line=1000), b"x", 1000),
        (WireLimits(line=1000), b"data:", 200),
        (WireLimits(event=1000), b"data: xy\n", 333),
    ],
    ids=["line", "data line", "event"],
)
def test_what_has_no_end_is_bounded(limits: WireLimits, piece: bytes, fits: int) -> None:
    """A server that never ends a line, or an event, gets an error, not all of the memory."""
    parser = SseParser(limits)
    for _ in range(fits):
        parser.feed(piece)
    with pytest.raises(ModelAnswerTooLargeError, match="more than 1000 bytes"):
        parser.feed(piece)


def test_close_drops_the_open_event() -> None:
    """An event that the stream's end cuts off is dropped, and a new stream begins clean."""
    parser = SseParser()
    assert parser.feed(b"event: e\ndata: half\n") == []
    parser.close()
    assert [(event.event, event.data) for event in parser.feed(b"data: a\n\n")] == [("message", b"a")]
