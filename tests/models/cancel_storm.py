"""Many cancelled calls over one pool: used by a test in small and by the bench in large.

The server chooses its turn by the request's text, "kind number"; only a text that is too big to read stands for
itself.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from rxagent.models import ChatCompletions
from rxagent.testing.chat_server import Received, Step, Turn, pause, stall, text, wire

from .calling import CallOnThread, ask, question

__all__ = ["Race", "Sample", "cancelled_after", "key", "race", "storm", "turn", "warm"]

_BIG: Final = 8_000_000
_STREAM: Final[list[str | Step]] = [item for _ in range(200) for item in ("word ", pause(0.003))]
_TURNS: Final = {
    "ok": Turn(text("ok")),
    "headers": Turn([stall()], framing="none"),
    "half": Turn([wire(b"HTTP/1.1 200 OK\r\nContent-Ty"), stall()], framing="none"),
    "chunked": Turn(_STREAM),
    "gzip": Turn(_STREAM, gzip=True),
    "length": Turn(_STREAM, framing="length"),
    "close": Turn(_STREAM, framing="close"),
    "sending": Turn([stall()], framing="none", read_body=False),
}
_KINDS: Final = tuple(kind for kind in _TURNS if kind != "ok")


def turn(received: Received) -> Turn:
    """The script."""
    if _is_big(received):
        return _TURNS["sending"]
    return _TURNS[key(received.read()).partition(" ")[0]]


def key(received: Received) -> str:
    """By what a request is known on both sides."""
    if _is_big(received):
        return "sending " + str(int(received.headers["content-length"]) - _BIG)
    return str(received.json["messages"][-1]["content"])


def _is_big(received: Received) -> bool:
    return int(received.headers["content-length"]) >= _BIG


@dataclass(frozen=True)
class Sample:
    """One cancelled call. Times are `time.monotonic()`; left: when its thread was free."""

    key: str
    cancelled: float
    left: float | None
    was_stopped: bool


def cancelled_after(model: ChatCompletions, kind: str, number: int, seconds: float) -> Sample:
    """Begin a call of this kind, and cancel it after so long."""
    content = f"{kind} {number}"
    if kind == "sending":  # known by the length of its body
        content = "x" * (_BIG + number - _overhead())
    call = CallOnThread(model, question(content))
    time.sleep(seconds)
    cancelled = time.monotonic()
    call.scope.cancel()
    call.join(5)
    return Sample(f"{kind} {number}", cancelled, call.left_at, call.was_stopped)


def warm(model: ChatCompletions) -> None:
    """A first call, which loads requests: tens of milliseconds that nothing interrupts."""
    ask(model, question("ok 0"))


def storm(model: ChatCompletions, count: int, longest: float, first: int = 0) -> list[Sample]:
    """Calls of all kinds, each cancelled at a random moment of its first `longest` seconds."""
    samples = []
    for number in range(first, first + count):
        if number % 2:
            ask(model, question(f"ok {number}"))  # so that the next call finds a connection in the pool
        samples.append(cancelled_after(model, random.choice(_KINDS), number, random.uniform(0, longest)))
    return samples


@dataclass
class Race:
    """What came of a race: how many calls of whom, and every wrong end in words."""

    innocent: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def race(model: ChatCompletions, innocents: int, threads: int = 3) -> Race:
    """Cancel calls at about the moment when they end, while other threads use the same pool."""
    result = Race()
    lock = threading.Lock()
    over = threading.Event()

    def innocent() -> None:
        while not over.is_set():
            try:
                said = ask(model, question("ok 0"))[-1].text
                problem = None if said == "ok" else f"said {said!r}"
            except Exception as error:
                problem = repr(error)
            with lock:
                result.innocent += 1
                if problem is not None:
                    result.wrong.append(problem)
                if result.innocent >= innocents:
                    over.set()

    crowd = [threading.Thread(target=innocent) for _ in range(threads)]
    for thread in crowd:
        thread.start()
    while not over.is_set():
        sample = cancelled_after(model, "ok", 1, random.uniform(0, 0.004))
        result.outcomes["stopped" if sample.was_stopped else "done"] += 1
    for thread in crowd:
        thread.join()
    return result


def _overhead() -> int:
    """Bytes of a request's body beside its text."""
    from rxagent.models.wire_request import request_json

    return len(request_json(question(""), "any"))
