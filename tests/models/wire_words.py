"""The words in which tests of the wire are written: chunks, call fragments, and what comes of them."""

from __future__ import annotations

import json
from typing import Any

from rxagent.models import LlmResponse
from rxagent.models.wire_body import BodyReader
from rxagent.models.wire_stream import AnswerAssembly

__all__ = ["called", "calls", "chunk", "fragment", "read", "run", "sse"]

DONE = "[DONE]"


def chunk(delta: Any = None, finish: Any = None, **fields: Any) -> dict[str, Any]:
    """A chunk with one choice."""
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **fields}


def calls(*entries: Any, finish: Any = None) -> dict[str, Any]:
    """A chunk with call fragments."""
    return chunk({"tool_calls": list(entries)}, finish)


def fragment(index: Any = None, id: Any = None, name: str | None = None, args: Any = None, **more: Any) -> Any:
    """A call fragment; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", args)) if value is not None}
    fields = {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return {**fields, "function": function, **more}


def run(*payloads: Any) -> list[LlmResponse]:
    """The partial responses and the final one."""
    answer = AnswerAssembly()
    partials = [
        answer.add_data((item if isinstance(item, str) else json.dumps(item)).encode("utf-8", "surrogatepass"))
        for item in payloads
    ]
    return [*(partial for partial in partials if partial is not None), answer.final()]


def called(*payloads: Any) -> list[tuple[str | None, str | None, Any]]:
    """Id, name and arguments of the calls in the final response."""
    content = run(*payloads)[-1].content
    assert content is not None
    found = [part.function_call for part in content.parts or () if part.function_call is not None]
    return [(call.id, call.name, call.args) for call in found]


def sse(*payloads: Any, end: str = "\n\n") -> bytes:
    """A stream of these chunks."""
    lines = (item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in payloads)
    return "".join(f"data: {line}{end}" for line in lines).encode()


def read(body: bytes, size: int | None = None) -> list[LlmResponse]:
    """The responses that a body makes which comes in pieces of `size` bytes."""
    reader = BodyReader()
    responses: list[LlmResponse] = []
    size = size or max(len(body), 1)
    for at in range(0, len(body), size):
        responses += reader.feed(body[at : at + size])
        if reader.is_done:
            break
    return [*responses, reader.close()]
