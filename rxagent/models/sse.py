"""Server-sent events: bytes in, events out, no I/O (WHATWG HTML, section 9.2.6)."""

from __future__ import annotations

from typing import Final, NamedTuple, final

from rxagent.errors import ModelProtocolError

__all__ = ["SseEvent", "SseParser"]

_BOM: Final = b"\xef\xbb\xbf"
_LONGEST_LINE: Final = 16 * 2**20
_LONGEST_NUMBER: Final = 19  # digits; int() refuses thousands of them


class SseEvent(NamedTuple):
    """One event. retry: milliseconds, the last value that the server sent."""

    event: str
    data: str
    id: str
    retry: int | None


@final
class SseParser:
    """A push parser: `feed` it what arrives, in pieces of any size; `close` it at the end.

        feed    "da" "ta: a\\n\\nda" "ta: b"  close
        events        a                      (b is dropped: it had no end)

    longest_line: bytes that a line, and an event's data, may have; more is a ModelProtocolError.
    """

    __slots__ = (
        "_data",
        "_data_size",
        "_event",
        "_id",
        "_longest",
        "_pieces",
        "_pieces_size",
        "_retry",
        "_skip_lf",
        "_started",
    )

    def __init__(self, longest_line: int = _LONGEST_LINE) -> None:
        self._longest = longest_line
        self._pieces: list[bytes] = []  # of the line that has no end yet
        self._pieces_size = 0
        self._started = False  # the place for a BOM is past
        self._skip_lf = False  # the last byte was a CR: a LF now belongs to it
        self._data: list[str] = []
        self._data_size = 0
        self._event = ""
        self._id = ""
        self._retry: int | None = None

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that these bytes complete. Raises ModelProtocolError for a line that is too long."""
        if not self._started:
            chunk = self._without_bom(chunk)
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return []
        if self._is_one_event(chunk):
            return [SseEvent("message", _decoded(chunk[6:-2]), self._id, self._retry)]
        self._pieces.append(chunk)
        events: list[SseEvent] = []
        if b"\n" in chunk or b"\r" in chunk:
            lines = self._lines(b"".join(self._pieces))
            self._pieces = [lines.pop()]
            self._pieces_size = len(self._pieces[0])
            events = [event for line in lines if (event := self._line(line)) is not None]
        else:
            self._pieces_size += len(chunk)
        if self._pieces_size + self._data_size > self._longest:
            raise ModelProtocolError(f"the server sent an event of more than {self._longest} bytes")
        return events

    def close(self) -> None:
        """The end: an event without its blank line is dropped, as the standard says."""
        self._pieces, self._pieces_size = [], 0
        self._data, self._data_size, self._event = [], 0, ""

    def _is_one_event(self, chunk: bytes) -> bool:
        """True for one whole event of one line, as nearly all are: it needs no taking apart."""
        return (
            chunk.startswith(b"data: ")
            and chunk.find(b"\n") == len(chunk) - 2
            and chunk.endswith(b"\n")
            and not (self._pieces_size or self._data or self._event)
            and b"\r" not in chunk
            and len(chunk) <= self._longest
        )

    def _without_bom(self, chunk: bytes) -> bytes:
        head = b"".join(self._pieces) + chunk
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._pieces = [head]
            return b""
        self._pieces, self._started = [], True
        return head.removeprefix(_BOM)

    def _lines(self, text: bytes) -> list[bytes]:
        if b"\r" not in text:
            return text.split(b"\n")
        self._skip_lf = text.endswith(b"\r")
        return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")

    def _line(self, line: bytes) -> SseEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(_decoded(value))
            self._data_size += len(line)
        elif name == b"event":
            self._event = _decoded(value)
        elif name == b"id":
            if b"\0" not in value:
                self._id = _decoded(value)
        elif name == b"retry" and value.isdigit() and len(value) < _LONGEST_NUMBER:
            self._retry = int(value)
        return None  # an empty name is a comment, an unknown one is ignored

    def _dispatch(self) -> SseEvent | None:
        event, data = self._event or "message", self._data
        self._event, self._data, self._data_size = "", [], 0
        return SseEvent(event, "\n".join(data), self._id, self._retry) if data else None


def _decoded(value: bytes) -> str:
    return value.decode("utf-8", "replace")
