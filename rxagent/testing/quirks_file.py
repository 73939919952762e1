"""Quirk: one way in which a chat-completions server deviates, read from a small file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast, final, get_args

from rxagent.errors import ConfigError

from .chat_script import Framing, Step, Turn, close, pause, reset, stall
from .quirks_reading import ReadCall, Reading

__all__ = ["Cut", "Quirk", "QuirkAnswer", "Refusal", "load_quirk"]

Cut: TypeAlias = Callable[[bytes], "list[bytes]"]
"""How bytes become pieces: of a read, or of a write."""

Refusal: TypeAlias = Literal[
    "max_tokens",
    "max_completion_tokens",
    "stream_options",
    "parallel_tool_calls",
    "strict",
    "developer_role",
    "system_role",
    "reasoning_missing",
    "reasoning_echoed",
    "null_content",
    "text_content",
    "repeated_call_ids",
]
"""What a server answers with status 400: a field of the request, or a form of its messages."""

_ENDS: Final = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
_ACTS: Final[Mapping[str, Callable[[], Step]]] = {"stall": stall, "close": close, "reset": reset}


@final
@dataclass(frozen=True, slots=True)
class QuirkAnswer:
    """One HTTP answer. steps: bytes of the body, pauses, and what breaks it off.

    In the values of `headers` `{in 2 s}` becomes the HTTP date two seconds from now.
    """

    steps: tuple[Step, ...]
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    framing: Framing = "chunked"
    gzip: bool = False

    @property
    def body(self) -> bytes:
        """All bytes of the body, unpacked."""
        return b"".join(step.bytes for step in self.steps)

    @property
    def is_open(self) -> bool:
        """True when the connection stays open after the last byte."""
        return any(step.kind == "stall" for step in self.steps)

    def turn(self, cut: Cut, headers: Mapping[str, str]) -> Turn:
        """The same for a ChatServer: each piece of `cut` is one write. headers: as they are to be sent."""
        items: list[Step] = []
        for step in self.steps:
            items += [step._replace(bytes=piece) for piece in cut(step.bytes)] if step.kind == "body" else [step]
        items = items or [Step("body")]
        items[-1] = items[-1]._replace(ends=True)  # nothing is added to what the file says
        return Turn(items, status=self.status, headers=headers, framing=self.framing, gzip=self.gzip)


@final
@dataclass(frozen=True, slots=True)
class Quirk:
    """What a server sends, and what must come of it.

    name: the file's, and the name of the model under which a QuirkServer plays it. seen: where it was seen, as
    `owner/repository#number`. like: the quirk that this one varies, instead. answers: to the first request and to its
    repeats, in order. refuses: what the server refuses of a request. expected: what a reader must make of it.
    ids: the ids of the calls, empty where any will do. waits: seconds between the requests, None where any
    will do. open: rxagent's own
    client does not read it right yet.
    """

    name: str
    about: str
    seen: tuple[str, ...]
    like: str
    answers: tuple[QuirkAnswer, ...]
    refuses: tuple[Refusal, ...]
    expected: Reading
    ids: tuple[str, ...]
    waits: tuple[float, ...] | None
    open: bool

    @property
    def body(self) -> bytes:
        """The bytes that the last answer's body has, unpacked."""
        return self.answers[-1].body

    @property
    def is_bytes(self) -> bool:
        """True when the bytes of one answer are all there is: no error status, no refusal, no silence."""
        only = self.answers[0]
        timed = self.expected.error.endswith("TimeoutError")
        return len(self.answers) == 1 and only.status == 200 and not timed and not self.refuses


def load_quirk(path: Path) -> Quirk:
    """The quirk in a TOML file. Raises ConfigError with the file and the place for anything that is not understood.

    ::

        about = "call fragments carry no index"
        seen = ["ollama/ollama#7881"]          # or: like = "the-quirk-it-varies"
        lines = "crlf"                         # what a line end of `send` becomes: lf (without this), crlf or cr
        send = [
            '''
        data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}

        ''',
            { pause = 0.05 },                  # seconds; also { stall = true }, { close = true }, { reset = true }
            { bytes = 'data: [DO\\x4eE]\\r\\n' },  # escapes as in Python's bytes
        ]
        [expect]                               # text, thought, calls, finish, code, usage; or error, status, text
        text = "Hi"
        finish = "STOP"

    Besides: `status`, `headers`, `framing` ("chunked", "length", "close") and `gzip` of the answer; `[[answer]]` with
    these and `send`, once for each, where a repeated request gets another one; `refuses`, `waits`, `open`.
    """
    try:
        fields = tomllib.loads(path.read_text("utf-8"))
        quirk = _quirk(path.stem, fields)
    except (ValueError, TypeError, KeyError, UnicodeError) as error:
        raise ConfigError(f"{path}: {error}; see load_quirk for what a quirk's file holds") from None
    return quirk


def _quirk(name: str, fields: dict[str, Any]) -> Quirk:
    take = fields.pop
    quirk = Quirk(
        name=name,
        about=take("about"),
        seen=tuple(take("seen", ())),
        like=take("like", ""),
        refuses=_refusals(take("refuses", ())),
        waits=tuple(map(float, take("waits"))) if "waits" in fields else None,
        open=bool(take("open", False)),
        ids=tuple(call.get("id", "") for call in fields["expect"].get("calls", ())),
        expected=_expected(take("expect")),
        answers=tuple(map(_answer, take("answer"))) if "answer" in fields else (_answer(fields),),
    )
    _nothing_left(fields)
    if bool(quirk.seen) == bool(quirk.like):
        raise ValueError("give either `seen`, or `like`")
    said = quirk.expected
    if not (said.error or said.code or said.text or said.thought or said.calls):
        raise ValueError("expect: an empty success")
    return quirk


def _refusals(words: list[str]) -> tuple[Refusal, ...]:
    for word in words:
        if word not in get_args(Refusal):
            raise ValueError(f"refuses: {word!r} is none of {', '.join(get_args(Refusal))}")
    return cast("tuple[Refusal, ...]", tuple(words))


def _answer(fields: dict[str, Any]) -> QuirkAnswer:
    take = fields.pop
    end = _ENDS[take("lines", "lf")]
    send = take("send", "")
    framing = take("framing", "chunked")
    if framing not in get_args(Framing):
        raise ValueError(f"framing: {framing!r} is none of {', '.join(get_args(Framing))}")
    answer = QuirkAnswer(
        steps=tuple(_step(one, end) for one in ([send] if isinstance(send, str) else send)),
        status=int(take("status", 200)),
        headers=tuple(take("headers", {}).items()),
        framing=framing,
        gzip=bool(take("gzip", False)),
    )
    _nothing_left(fields)
    return answer


def _step(one: str | dict[str, Any], end: str) -> Step:
    if isinstance(one, str):
        return Step("body", one.replace("\n", end).encode())
    ((kind, value),) = one.items()
    if kind == "bytes":
        escaped = value.encode("latin-1", "backslashreplace").decode("unicode_escape")
        return Step("body", escaped.encode("latin-1"))
    if kind == "pause":
        return pause(float(value))
    return _ACTS[kind]()


def _expected(fields: dict[str, Any]) -> Reading:
    take = fields.pop
    usage = take("usage", None)
    reading = Reading(
        text=take("text", ""),
        thought=take("thought", ""),
        calls=tuple(ReadCall.of(call["name"], json.loads(call["args"])) for call in take("calls", ())),
        finish=take("finish", ""),
        usage=None if usage is None else (usage["prompt"], usage["answer"], usage["total"]),
        error=take("error", ""),
        status=take("status", None),
        code=take("code", ""),
    )
    _nothing_left(fields)
    if bool(reading.error) == bool(reading.finish):
        raise ValueError("expect: give either `finish`, or `error`")
    if reading.error and reading.calls:
        raise ValueError("expect: no call comes with an error")
    return reading


def _nothing_left(fields: Mapping[str, Any]) -> None:
    if fields:
        raise ValueError(f"unknown: {', '.join(sorted(fields))}")
