"""Figures of the wire: what a chunk of a streamed answer costs from its bytes to its response, and long arguments.

    python tests/bench/bench_wire.py [rounds]

Prints JSON: medians over the rounds. `chunk` is one event a read, `chunk_together` the same stream in reads of 64 KiB,
`chunk_of_bytes` in reads of 16 bytes; each a chunk of 250 bytes with the fields that servers send. `arguments_*` are
arguments of a call in fragments of 64 bytes, in all and per fragment: the last is the same for any length.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence

from rxagent.models.wire_body import BodyReader

CHUNKS = 1_000
FRAGMENT = 64
MIB = 2**20


def event(delta: dict[str, object], finish: str | None = None) -> bytes:
    """A server-sent event with one chunk, as vLLM and OpenAI send it."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    fields = {"id": "chatcmpl-0123456789", "object": "chat.completion.chunk", "created": 1700000000, "model": "m-1"}
    return b"data: " + json.dumps({**fields, "system_fingerprint": "fp_0", "choices": [choice]}).encode() + b"\n\n"


END = [event({}, "stop"), b"data: [DONE]\n\n"]


def text_stream() -> list[bytes]:
    """One event a chunk."""
    return [*(event({"content": f" token{number}"}) for number in range(CHUNKS)), *END]


def argument_stream(size: int, *, fresh_ids: bool = False) -> list[bytes]:
    """A call whose arguments have `size` bytes."""
    arguments = json.dumps({"text": "x" * (size - 12)})
    stream = [event({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]})]
    for at in range(0, size, FRAGMENT):
        place = {"id": f"c{at}"} if fresh_ids else {"index": 0}
        entry = {**place, "function": {"arguments": arguments[at : at + FRAGMENT]}}
        stream.append(event({"tool_calls": [entry]}))
    return [*stream, *END]


def read(pieces: Sequence[bytes]) -> None:
    """What the client does with the bytes of an answer."""
    reader = BodyReader()
    for piece in pieces:
        for _ in reader.feed(piece):
            pass
    reader.close()


def cut(stream: Sequence[bytes], size: int) -> list[bytes]:
    """The stream in reads of `size` bytes."""
    body = b"".join(stream)
    return [body[at : at + size] for at in range(0, len(body), size)]


def measure(pieces: Sequence[bytes], rounds: int, per: int, unit: str) -> dict[str, object]:
    """Medians of wall clock and CPU of reading these pieces."""
    scale = {"us": 1e6, "ms": 1e3}[unit] / per
    wall, cpu = [], []
    for _ in range(rounds):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        read(pieces)
        wall.append((time.perf_counter() - wall_start) * scale)
        cpu.append((time.process_time() - cpu_start) * scale)
    return {
        "median": round(statistics.median(wall), 3),
        "unit": unit,
        "cpu_median": round(statistics.median(cpu), 3),
    }


def main(rounds: int = 15) -> None:
    """Measure and print."""
    text = text_stream()
    read(text)  # what is loaded and built at the first use
    few = max(rounds // 5, 1)
    results = {
        "chunk": measure(text, rounds, len(text), "us"),
        "chunk_together": measure(cut(text, 65536), rounds, len(text), "us"),
        "chunk_of_bytes": measure(cut(text, 16), rounds, len(text), "us"),
    }
    for name, size, fresh in (
        ("arguments_64_kib", MIB // 16, False),
        ("arguments_1_mib", MIB, False),
        ("arguments_1_mib_fresh_ids", MIB, True),
    ):
        stream = argument_stream(size, fresh_ids=fresh)
        results[name] = measure(stream, few, 1, "ms")
        results[f"{name}_fragment"] = measure(stream, few, len(stream), "us")
    print(json.dumps({"system": "rxagent", "version": "0.1.0", "results": results}, indent=2))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
