"""Server-sent events: bytes in, events out, no I/O (WHATWG HTML, section 9.2.6)."""

from __future__ import annotations

from io import BytesIO
from typing import Final, NamedTuple, final

from .wire_limits import WireLimits, too_large

__all__ = ["SseEvent", "SseParser"]

_BOM: Final = b"\xef\xbb\xbf"
_DATA: Final = b"data:"
_FIELDS: Final = (b"event", b"id", b"retry")
_LONGEST_NAME: Final = 64 * 2**10  # bytes of the lines that are no data, their names included
_LONGEST_NUMBER: Final = 19  # digits; int() refuses thousands of them


class SseEvent(NamedTuple):
    """One event. data: UTF-8, if the server sends what it should. retry: milliseconds, the last value that came."""

    event: str
    data: bytes
    id: str
    retry: int | None


@final
class SseParser:
    """A push parser: `feed` it what arrives, in pieces of any size; `close` it at the end.

        feed    "da" "ta: a\\n\\nda" "ta: b"  close
        events        a                      (b is dropped: it had no end)

    limits: what a line, and an event's data, may have. Data is kept once: a line of it grows in the event's own buffer.
    """

    __slots__ = (
        "_data",
        "_event",
        "_id",
        "_in_data",
        "_limits",
        "_line",
        "_line_size",
        "_retry",
        "_skip_lf",
        "_started",
    )

    def __init__(self, limits: WireLimits | None = None) -> None:
        self._limits = limits or WireLimits()
        self._started = False  # the place for a BOM is past
        self._skip_lf = False  # the last byte was a CR: a LF now belongs to it
        self._line = bytearray()  # the line that has no end yet, if it is no data
        self._line_size = 0  # all of its bytes
        self._in_data = False  # it is data: it stands in `_data`
        self._data: BytesIO | None = None  # its `getvalue` is no copy
        self._event = ""
        self._id = ""
        self._retry: int | None = None

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that these bytes complete. Raises ModelAnswerTooLargeError for a line or event without end."""
        if not self._started:
            chunk = self._without_bom(chunk)
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return []
        if self._is_one_event(chunk):
            return [SseEvent("message", chunk[6:-2], self._id, self._retry)]
        if b"\r" in chunk:
            self._skip_lf = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        events, start = [], 0
        while (end := chunk.find(b"\n", start)) >= 0:
            event = self._end_line(chunk[start:end])
            if event is not None:
                events.append(event)
            start = end + 1
        if start < len(chunk):
            self._grow_line(chunk[start:])
        return events

    def close(self) -> None:
        """The end: an event without its blank line is dropped, as the standard says."""
        self._line, self._line_size, self._in_data = bytearray(), 0, False
        self._data, self._event = None, ""

    def _is_one_event(self, chunk: bytes) -> bool:
        """True for one whole event of one line, as nearly all are: it needs no taking apart."""
        return (
            chunk.startswith(b"data: ")
            and chunk.find(b"\n") == len(chunk) - 2
            and chunk.endswith(b"\n")
            and not (self._line_size or self._data is not None or self._event)
            and b"\r" not in chunk
            and len(chunk) <= min(self._limits.line, self._limits.event)
        )

    def _without_bom(self, chunk: bytes) -> bytes:
        head = bytes(self._line) + chunk
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._line = bytearray(head)
            return b""
        self._line, self._started = bytearray(), True
        return head.removeprefix(_BOM)

    def _grow_line(self, piece: bytes) -> None:
        """Take a piece of a line whose end has not come."""
        self._count(piece)
        if self._in_data:
            self._add_data(piece)
            return
        self._line += piece
        if len(self._line) > len(_DATA) and self._line.startswith(_DATA):
            self._begin_data(bytes(self._line[len(_DATA) :]))
            self._line, self._in_data = bytearray(), True
        elif len(self._line) > _LONGEST_NAME:
            del self._line[_LONGEST_NAME + 1 :]  # a comment, or it is refused at its end

    def _end_line(self, piece: bytes) -> SseEvent | None:
        """Take the rest of a line, without its end."""
        self._count(piece)
        self._line_size = 0
        if self._in_data:
            self._in_data = False
            self._add_data(piece)
            return None
        if self._line:
            piece, self._line = bytes(self._line) + piece, bytearray()
        if not piece:
            return self._dispatch()
        name, _, value = piece.partition(b":")
        if name == b"data":
            self._begin_data(value)
        elif name in _FIELDS:
            self._set(name, value.removeprefix(b" "))
        return None  # an empty name is a comment, an unknown one is ignored

    def _set(self, name: bytes, value: bytes) -> None:
        if len(value) >= _LONGEST_NAME - 8:
            raise too_large("event", self._limits.event, f"the server sent an endless {name.decode()}")
        if name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
        elif value.isdigit() and len(value) < _LONGEST_NUMBER:
            self._retry = int(value)

    def _begin_data(self, value: bytes) -> None:
        value = value.removeprefix(b" ")
        if self._data is None:
            self._data = BytesIO()
        else:
            self._data.write(b"\n")
        self._add_data(value)

    def _add_data(self, piece: bytes) -> None:
        assert self._data is not None
        self._data.write(piece)
        if self._data.tell() > self._limits.event:
            raise too_large("event", self._limits.event)

    def _count(self, piece: bytes) -> None:
        self._line_size += len(piece)
        if self._line_size > self._limits.line:
            raise too_large("line", self._limits.line)

    def _dispatch(self) -> SseEvent | None:
        event, data = self._event or "message", self._data
        self._event, self._data = "", None
        return None if data is None else SseEvent(event, data.getvalue(), self._id, self._retry)
