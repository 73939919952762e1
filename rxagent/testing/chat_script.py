"""What the scripted chat-completions server says: turns, and the items of a turn."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final

from rxagent.events import FunctionCall, Part, UsageMetadata

__all__ = [
    "Item",
    "Step",
    "Turn",
    "TurnLike",
    "close",
    "data",
    "done",
    "finish",
    "pause",
    "reasoning",
    "reset",
    "stall",
    "status",
    "tell",
    "text",
    "usage",
    "wait",
    "wire",
]

Framing: TypeAlias = Literal["chunked", "length", "close", "none"]
_PROMISED: Final = 1000  # bytes that a content-length answer which does not end promises beyond what it sends


class Step(NamedTuple):
    """One act of the server on a connection; made by the functions below."""

    kind: Literal["body", "wire", "pause", "wait", "tell", "stall", "close", "reset"]
    bytes: bytes = b""
    seconds: float = 0.0
    event: threading.Event | None = None
    ends: bool = False
    """True for what ends an answer by itself, or leaves it open on purpose: no finish is added after it."""


Item: TypeAlias = str | bytes | Part | FunctionCall | UsageMetadata | Step
"""A text piece, bytes of the body, a tool call, a thought, the usage, or a step.

A script of texts, parts and usage serves `rxagent.testing.ScriptedModel` and the server alike.
"""


@final
class Turn:
    """The answer to one request.

    items: in order. Text and calls become proper chunks; unless one of the items ends the answer (or is bytes), a
    finish chunk, a usage chunk and `[DONE]` are added. before: what happens ahead of the headers. framing: how the
    body's end is told; "none" adds nothing at all: the items are the whole answer, status line included. gzip:
    compress, flushed after each item. split: bytes a write, None for one write an item. read_body: False leaves the
    request's body unread.
    """

    __slots__ = ("before", "framing", "gzip", "headers", "items", "read_body", "split", "status")

    def __init__(
        self,
        items: Iterable[Item] = (),
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        before: Iterable[Item] = (),
        framing: Framing = "chunked",
        gzip: bool = False,
        split: int | None = None,
        read_body: bool = True,
    ) -> None:
        self.items = tuple(items)
        self.status = status
        self.headers = dict(headers or {})
        self.before = tuple(before)
        self.framing = framing
        self.gzip = gzip
        self.split = split
        self.read_body = read_body

    def steps(self, number: int) -> Iterator[Step]:
        """What the server does, as steps of kind `wire`, pauses and endings. number: of the turn, for call ids."""
        yield from _steps(self.before, number, complete=False)
        body = _steps(self.items, number, complete=self.status == 200 and self.framing != "none")
        if self.gzip:
            body = _compressed(body)
        if self.framing == "length":  # the only one that must know the end at the beginning
            whole = list(body)
            length = sum(len(step.bytes) for step in whole if step.kind == "body")
            yield _wire(self._head(length + (_PROMISED if self._stays_open else 0)))
            body = iter(whole)
        elif self.framing != "none":
            yield _wire(self._head(None))
        for step in body:
            if step.kind == "body":
                yield from self._framed(step.bytes)
            else:
                yield step
        if not self._stays_open:
            if self.framing == "chunked":
                yield _wire(b"0\r\n\r\n")
            elif self.framing == "close":
                yield close()

    @property
    def _stays_open(self) -> bool:
        return any(isinstance(item, Step) and item.kind in ("stall", "close", "reset") for item in self.items)

    def _framed(self, content: bytes) -> Iterator[Step]:
        size = self.split or len(content) or 1
        for start in range(0, len(content), size):
            piece = content[start : start + size]
            yield _wire(b"%x\r\n%b\r\n" % (len(piece), piece) if self.framing == "chunked" else piece)

    def _head(self, length: int | None) -> bytes:
        headers = {"Content-Type": "text/event-stream"}
        if self.framing == "chunked":
            headers["Transfer-Encoding"] = "chunked"
        elif length is not None:
            headers["Content-Length"] = str(length)
        else:
            headers["Connection"] = "close"
        if self.gzip:
            headers["Content-Encoding"] = "gzip"
        headers.update(self.headers)
        lines = [f"HTTP/1.1 {self.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


TurnLike: TypeAlias = Turn | Iterable[Item] | str
"""A Turn, its items alone, or one text."""


# -- items -------------------------------------------------------------------------------------------------------------


def text(*pieces: str) -> list[Item]:
    """A turn of text pieces, one chunk each."""
    return list(pieces)


def data(payload: object) -> Step:
    """One event: a text as it is, anything else as JSON."""
    payload = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
    return Step("body", "".join(f"data: {line}\n" for line in payload.split("\n")).encode() + b"\n")


def reasoning(piece: str, key: str = "reasoning_content") -> Step:
    """A piece of reasoning."""
    return data(_chunk({key: piece}))


def finish(reason: str = "stop") -> Step:
    """A finish chunk. The turn then gets no other ending: add `usage` and `done` as wanted."""
    return data(_chunk({}, reason))._replace(ends=True)


def usage(prompt: int, completion: int) -> Step:
    """A usage chunk, as servers send it after the finish chunk."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return data({**_chunk({}), "choices": [], "usage": counts})


def done() -> Step:
    """`[DONE]`."""
    return data("[DONE]")._replace(ends=True)


def wire(exact: bytes) -> Step:
    """Exact bytes on the wire, outside of the body's framing."""
    return _wire(exact)._replace(ends=True)


def pause(seconds: float) -> Step:
    """Say nothing for that long."""
    return Step("pause", seconds=seconds)


def wait(event: threading.Event) -> Step:
    """Say nothing until the test sets the event."""
    return Step("wait", event=event)


def tell(event: threading.Event) -> Step:
    """Set an event: the test waits for it to know that the server has come here."""
    return Step("tell", event=event)


def stall() -> Step:
    """Say nothing more; the connection stays open until the client goes."""
    return Step("stall", ends=True)


def close() -> Step:
    """Close the connection here, in mid-answer or not."""
    return Step("close", ends=True)


def reset() -> Step:
    """Break the connection here, with a TCP reset."""
    return Step("reset", ends=True)


def status(code: int, body: object = "", *, headers: Mapping[str, str] | None = None) -> Turn:
    """A whole answer with a status: a text, or JSON of anything else."""
    plain = isinstance(body, str)
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    kind = {"Content-Type": "text/plain" if plain else "application/json"}
    return Turn([Step("body", content, ends=True)], status=code, framing="length", headers={**kind, **(headers or {})})


# -- steps -------------------------------------------------------------------------------------------------------------


def _wire(exact: bytes) -> Step:
    return Step("wire", exact)


def _steps(items: Iterable[Item], number: int, *, complete: bool) -> Iterator[Step]:
    calls = 0
    counts: Step | None = None
    for item in items:
        if isinstance(item, bytes):
            complete = False
            yield Step("body", item)
        elif isinstance(item, Step):
            complete = complete and not item.ends
            yield item
        elif isinstance(item, UsageMetadata):
            counts = usage(item.prompt_token_count or 0, item.candidates_token_count or 0)
        elif isinstance(item, str) or (isinstance(item, Part) and item.function_call is None):
            yield _said(item)
        else:
            call = item if isinstance(item, FunctionCall) else item.function_call
            if call is not None:
                yield from _call(call, calls, f"call_{number}_{calls}")
                calls += 1
    if complete:
        yield finish("tool_calls" if calls else "stop")
        yield counts or usage(10, 5)
        yield done()


def _said(item: str | Part) -> Step:
    if isinstance(item, Part):
        return reasoning(item.text or "") if item.thought else data(_chunk({"content": item.text or ""}))
    return data(_chunk({"content": item}))


def _call(call: FunctionCall, index: int, fallback_id: str) -> Iterator[Step]:
    """Two fragments, as servers send them: id and name, then the arguments."""
    head = {"name": call.name, "arguments": ""}
    yield data(
        _chunk({"tool_calls": [{"index": index, "id": call.id or fallback_id, "type": "function", "function": head}]})
    )
    tail = {"arguments": json.dumps(call.args or {})}
    yield data(_chunk({"tool_calls": [{"index": index, "function": tail}]}))


def _chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "scripted", "choices": [choice]}


def _compressed(body: Iterable[Step]) -> Iterator[Step]:
    packer = zlib.compressobj(wbits=31)
    for step in body:
        if step.kind == "body":
            yield step._replace(bytes=packer.compress(step.bytes) + packer.flush(zlib.Z_SYNC_FLUSH))
        else:
            yield step
    yield Step("body", packer.flush())
