"""Limits of answers: what is large and fits, what does not, and what the errors say."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from rxagent.errors import ConfigError, ModelAnswerTooLargeError
from rxagent.models import ChatCompletions, LlmRequest, WireLimits
from rxagent.models.wire_body import BodyReader
from rxagent.models.wire_limits import check_memory
from rxagent.streams import Blocking, CancelScope
from rxagent.testing.chat_server import ChatServer
from rxagent.testing.quirks_parse import parse_body

from .wire_words import DONE, calls, chunk, fragment, read, sse

MIB = 2**20


def test_what_real_servers_send_in_one_event_fits() -> None:
    """An image of 10 MiB in base64, and 1 MiB of arguments as a whole, in any script and full of JSON's signs, fit."""
    image = {"images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * (10 * MIB)}}]}
    *_, final = read(sse(chunk({"content": "see", **image}), chunk({}, "stop"), DONE))
    assert final.text == "see"
    for text in ("a,b:[{" * (MIB // 6), "x = {'a': [1, 2]}\n" * (MIB // 18) + "\U0001f600"):
        arguments = json.dumps({"text": text}, ensure_ascii=False)
        *_, final = read(sse(calls(fragment(0, "c", "f", arguments)), chunk({}, "tool_calls"), DONE))
        assert final.content is not None
        [part] = final.content.parts or ()
        assert part.function_call is not None
        assert part.function_call.args == {"text": text}


def test_many_values_are_too_large_though_their_bytes_are_not() -> None:
    """JSON of small objects takes thirty times its bytes: it is refused before it is read, with what to do."""
    body = b'data: {"choices":[' + b"{}," * MIB + b"{}]}\n\n"
    with pytest.raises(ModelAnswerTooLargeError, match=r"16777216 bytes and 8 MiB; raise WireLimits\(event=") as caught:
        list(BodyReader().feed(body))
    assert (caught.value.limit, caught.value.most) == ("event", 16 * MIB)


@pytest.mark.parametrize("end", [b"", b'"', b"\\", b'\\"'])
def test_signs_in_strings_are_no_values(end: bytes) -> None:
    """A string that is full of signs and quotes is one value, ended or not; looking costs linear time."""
    check_memory(b'["' + b'{[,:\\"' * (MIB // 6) + end, MIB, "event")


@pytest.mark.parametrize("what", ["text", "arguments", "calls"])
def test_an_answer_without_end(what: str) -> None:
    """Text, arguments or calls that go on for ever, each event a small one, end at the limit of an answer."""
    reader = BodyReader(limits=WireLimits(answer=100_000))
    pieces: dict[str, Callable[[int], Any]] = {
        "text": lambda _: chunk({"content": "x" * 100}),
        "arguments": lambda _: calls(fragment(0, "c", "f", "{" + "x" * 99)),
        "calls": lambda number: calls(fragment(number, f"c{number}", "f", "{}")),
    }
    stream = (sse(pieces[what](number)) for number in range(2000))
    with pytest.raises(ModelAnswerTooLargeError, match=r"an answer of more than 100000 bytes; raise WireLimits"):
        deque(parse_body(stream, reader), maxlen=0)


def test_a_client_with_limits_of_its_own() -> None:
    """ChatCompletions takes limits: an answer that passes one is an error, and is not asked for again."""
    with ChatServer(["a long answer " * 100, "a long answer " * 100]) as server:
        model = ChatCompletions("m", base_url=server.base_url, limits=WireLimits(event=1000, line=1000))
        answer = model.generate_content(LlmRequest())
        assert isinstance(answer, Blocking)
        with pytest.raises(ModelAnswerTooLargeError, match="1000 bytes"):
            list(answer.iterate(CancelScope()))
        assert len(server.requests) == 1
        model.close()


def test_a_limit_is_a_number_of_bytes() -> None:
    """None or a negative limit is refused, by name."""
    for value in (0, -1):
        with pytest.raises(ConfigError, match="the event limit"):
            WireLimits(event=value)
