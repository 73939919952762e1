"""Byte streams that no server should send: the corpus, mutated at random, and noise."""

from __future__ import annotations

import collections
import itertools
import json
import random
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

from rxagent.errors import RxAgentError
from rxagent.models.wire_body import BodyReader
from rxagent.models.wire_limits import WireLimits

from .quirks_corpus import quirks
from .quirks_parse import parse_body

__all__ = ["BOMBS", "FuzzReport", "bomb", "cut_anywhere", "fuzz", "mutated"]

_KEPT: Final = 5  # tracebacks of a report

_TOKENS: Final = (
    *(b"data:", b"data: ", b"event: error\n", b"id: 1\n", b"retry: 9\n", b":\n", b"\n", b"\r", b"\r\n", b"\n\n"),
    *(
        b"[DONE]",
        b"data: [DONE]\n\n",
        b"\xef\xbb\xbf",
        b"\0",
        b"\xff",
        b"\xc3",
        b"\xe2\x80\xa8",
        b"\\ud800",
        b"\\u0000",
    ),
    *(b"null", b"{}", b"[]", b'""', b"NaN", b"-1", b"1e999", b"0.5", b"9" * 40, b"true", b"[" * 300, b'{"a":' * 300),
    *(b"{", b"}", b"[", b"]", b'"', b",", b"\\", b"<html>"),
)
_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 2**70, 0.5, 1e308, "", "x", "null", "\ud800", "\0", "[DONE]", [], {}, [[]], [None]),
    *({"a": 1}, {"message": None}, {"code": []}, "data: {}", "{", '{"x":1}', '"{}"', ["a", {}], "stop", "error"),
)
_KEYS: Final = (
    *("choices", "delta", "message", "index", "tool_calls", "function", "name", "arguments", "id", "finish_reason"),
    *("usage", "x_groq", "error", "content", "text", "type", "reasoning", "reasoning_content", "reasoning_details"),
    *("thinking", "refusal", "function_call", "extra_content", "code", "status", "detail", "model", "prompt_tokens"),
)


_TEXT: Final = b'data: {"choices":[{"delta":{"content":"'
_TEXT_END: Final = b'"}}]}\n\n'
_ARGUMENTS: Final = b'data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"'
_ARGUMENTS_END: Final = b'"}}]}}]}\n\ndata: {"choices":[{"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

BOMBS: Final[Mapping[str, tuple[bytes, bytes, bytes]]] = {
    "line": (b"", b"x" * 4096, b"\n\n"),
    "comment": (b":", b"x" * 4096, b"\n\n"),
    "event": (b"", b"data: " + b"x" * 1000 + b"\n", b"\n\n"),
    "empty data lines": (b"", b"data\n" * 800, b"\n\n"),
    "short data lines": (b"", "data:é€\n".encode() * 400, b"\n\n"),
    "event name": (b"data: x\nevent: ", b"x" * 4096, b"\n\n"),
    "id": (b"data: x\nid: ", b"x" * 4096, b"\n\n"),
    "list": (b'data: {"choices":[', b"[]," * 1000, b"[]]}\n\n"),
    "objects": (b'data: {"choices":[', b'{"a":1},' * 500, b"1]}\n\n"),
    "towers": (b"data: [", (b'{"a":' * 90 + b"1" + b"}" * 90 + b",") * 8, b"1]\n\n"),
    "numbers": (b"data: [", b"1e5," * 1000, b"1]\n\n"),
    "depth": (b"data: ", b'{"a":[' * 800, b"\n\n"),
    "text": (_TEXT, b"x" * 4096, _TEXT_END),
    "escapes": (_TEXT, b"xxx\\n" * 800, _TEXT_END),
    "wide text": (_TEXT + "\U0001f600".encode(), b"xxx\\n" * 800, _TEXT_END),
    "text that gets wide": (_TEXT, b"xxx\\n" * 800, b"\\ud83d\\ude00" + _TEXT_END),
    "no UTF-8": (_TEXT, b"\xff" * 4096, _TEXT_END),
    "half of a character": (_TEXT + b"\\ud83d", b"\xff" * 4096, _TEXT_END),
    "quotes": (b'data: ["', b'\\"' * 2048, b"\n\n"),
    "arguments": (_ARGUMENTS, b"x" * 4096, _ARGUMENTS_END),
    "values in arguments": (_ARGUMENTS + b'{\\"a\\":[', b"[]," * 1000, b"1]}" + _ARGUMENTS_END),
    "text in pieces": (b"", (_TEXT + b"xy" + _TEXT_END) * 80, b"\n\n"),
    "arguments in pieces": (b"", (_ARGUMENTS[:67] + b'"arguments":"xy' + _ARGUMENTS_END[:9] + b"\n\n") * 80, b"\n\n"),
    "calls": (b'data: {"choices":[{"delta":{"tool_calls":[', b'{"id":"a"},' * 400, b"{}]}}]}\n\n"),
    "error": (b'data: {"error":{"message":"', b"\\u0001" * 700, b'"}}\n\n'),
    "error in words": (b"event: error\ndata: ", b"\x01" * 4096, b"\n\n"),
    "field": (b'data: {"choices":[{"delta":{"images":["', b"x" * 4096, b'"]}}]}\n\n'),
    "body": (b'{"choices":[', b"{}," * 1000, b"{}]}"),
    "body of lines": (b'{"a":1}\n', b"1\n" * 2000, b""),
    "body text": (b'{"choices":[{"message":{"content":"', b"x" * 4096, b'"}}]}'),
    "body that is no JSON": (b"{", b"\xff" * 4096, b""),
}
"""What has no end, by name: how it begins, what is repeated, and what would end it well."""


@final
@dataclass(slots=True)
class FuzzReport:
    """What came of the streams. ends: how often each: `answer`, or the class of an error. faults: tracebacks of
    exceptions outside of rxagent's errors, a few of them, each with the seed of its stream."""

    ends: collections.Counter[str] = field(default_factory=collections.Counter)
    faults: list[str] = field(default_factory=list)


def fuzz(count: int, seed: int, *, longest: int = 64 * 2**10) -> FuzzReport:
    """Parse so many mutated streams. The same seed gives the same streams. longest: the limit of an event in bytes.

    One stream of a thousand is a bomb of twice the limit. `random.Random(that seed)` makes a fault's stream again, by
    `mutated` and `cut_anywhere`.
    """
    bodies = [one.body for one in quirks() if not one.open]
    seeds = random.Random(seed)
    names = itertools.cycle(BOMBS)
    report = FuzzReport()
    for number in range(count):
        stream = seeds.getrandbits(64)
        dice = random.Random(stream)
        if number % 1000 == 999:
            pieces: Iterable[bytes] = bomb(next(names), 2 * longest)
        else:
            pieces = cut_anywhere(mutated(bodies, dice), dice)
        report.ends[_end(pieces, longest, stream, report.faults)] += 1
    return report


def bomb(name: str, size: int) -> Iterator[bytes]:
    """A stream of at least so many bytes in which one thing, named in BOMBS, never ends."""
    head, piece, _ = BOMBS[name]
    yield head
    for _ in range(size // len(piece) + 1):
        yield piece


def _end(pieces: Iterable[bytes], longest: int, seed: int, faults: list[str]) -> str:
    try:
        for response in parse_body(pieces, BodyReader(limits=WireLimits(line=longest, event=longest, body=longest))):
            response.model_dump_json(exclude_none=True)  # what comes out can be stored
    except RxAgentError as error:
        return type(error).__name__
    except Exception as error:
        if len(faults) < _KEPT:
            faults.append(f"seed {seed}: {''.join(traceback.format_exception(error))}")
        return f"! {type(error).__name__}"
    return "answer"


def mutated(bodies: Sequence[bytes], dice: random.Random) -> bytes:
    """One of the bodies after one to four mutations, of its bytes or of its JSON; sometimes mere noise."""
    if dice.random() < 0.03:
        return dice.randbytes(dice.randrange(400))
    body = dice.choice(bodies)
    for _ in range(dice.randrange(1, 5)):
        body = dice.choice(_MUTATIONS)(body, bodies, dice)
    return body


def cut_anywhere(body: bytes, dice: random.Random) -> list[bytes]:
    """The body in one to eight pieces, or byte by byte."""
    if dice.random() < 0.05:
        return [body[place : place + 1] for place in range(len(body))]
    places = sorted(dice.randrange(len(body) + 1) for _ in range(dice.randrange(8)))
    return [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]


def _flip(body: bytes, _: Sequence[bytes], dice: random.Random) -> bytes:
    if not body:
        return body
    place = dice.randrange(len(body))
    return body[:place] + bytes([dice.randrange(256)]) + body[place + 1 :]


def _drop(body: bytes, _: Sequence[bytes], dice: random.Random) -> bytes:
    start = dice.randrange(len(body) + 1)
    return body[:start] + body[start + dice.choice((1, 2, 5, 40, 400)) :]


def _repeat(body: bytes, _: Sequence[bytes], dice: random.Random) -> bytes:
    start = dice.randrange(len(body) + 1)
    piece = body[start : start + dice.choice((1, 5, 40, 200))]
    return body[:start] + piece * dice.choice((2, 3, 8)) + body[start:]


def _insert(body: bytes, _: Sequence[bytes], dice: random.Random) -> bytes:
    place = dice.randrange(len(body) + 1)
    return body[:place] + dice.choice(_TOKENS) + body[place:]


def _splice(body: bytes, bodies: Sequence[bytes], dice: random.Random) -> bytes:
    other = dice.choice(bodies)
    return body[: dice.randrange(len(body) + 1)] + other[dice.randrange(len(other) + 1) :]


def _shuffle(body: bytes, _: Sequence[bytes], dice: random.Random) -> bytes:
    events = body.split(b"\n\n")
    dice.shuffle(events)
    return b"\n\n".join(events)


def _change_json(body: bytes, _: Sequence[bytes], dice: random.Random) -> bytes:
    """One value somewhere in the JSON of one event becomes another one."""
    events = body.split(b"\n\n")
    number = dice.randrange(len(events))
    try:
        value = json.loads(events[number].removeprefix(b"data: "))
    except (ValueError, RecursionError):
        return body
    events[number] = b"data: " + json.dumps(_changed(value, dice)).encode()
    return b"\n\n".join(events)


def _changed(value: Any, dice: random.Random) -> Any:
    if dice.random() < 0.15 or not value or not isinstance(value, dict | list):
        return dice.choice(_VALUES)
    if isinstance(value, list):
        place = dice.randrange(len(value))
        if dice.random() < 0.2:
            return [*value, dice.choice(value)]
        return [*value[:place], _changed(value[place], dice), *value[place + 1 :]]
    key = dice.choice(list(value))
    if dice.random() < 0.2:
        return {**value, dice.choice(_KEYS): dice.choice(_VALUES)}
    return {**value, key: _changed(value[key], dice)}


_Mutation = Callable[[bytes, Sequence[bytes], random.Random], bytes]
_MUTATIONS: Final[tuple[_Mutation, ...]] = (
    *(_flip, _drop, _repeat, _insert, _splice, _shuffle),
    *(_change_json, _change_json, _change_json),  # the only one that keeps the stream readable
)
