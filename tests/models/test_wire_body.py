"""Bodies of answers: every framing of events, JSON where a stream was asked, and what is no answer at all."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rxagent.errors import (
    ModelAnswerError,
    ModelAnswerTooLargeError,
    ModelEmptyAnswerError,
    ModelError,
    ModelProtocolError,
    ModelStreamTruncatedError,
)
from rxagent.models.wire_body import BodyReader
from rxagent.models.wire_limits import WireLimits

from .wire_words import DONE, calls, chunk, fragment, read, sse

WORDS = "naïve 漢字 \U0001f600 end"
ANSWER = [
    chunk({"role": "assistant"}),
    chunk({"content": WORDS}),
    calls(fragment(0, "a", "f", '{"city": "東')),
    calls(fragment(0, args='京 \U0001f5fc"}')),
    chunk({}, "tool_calls"),
    DONE,
]
PLAIN = sse(*ANSWER)
SPREAD = "".join(
    "".join(f"data: {line}\n" for line in json.dumps(one, indent=1).split("\n")) + "\n" for one in ANSWER[:-1]
)
FRAMINGS = {
    "as it should be": PLAIN,
    "CRLF": PLAIN.replace(b"\n", b"\r\n"),
    "CR": PLAIN.replace(b"\n", b"\r"),
    "mixed line ends": PLAIN.replace(b"\n\n", b"\r\n\n"),
    "no space": PLAIN.replace(b"data: ", b"data:"),
    "a byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "blank lines first": b"\r\n\n" + PLAIN,
    "comments": b": OPENROUTER PROCESSING\n\n" * 3 + PLAIN.replace(b"\n\n", b"\n: still here\n\n:\n\n"),
    "comments as data": PLAIN.replace(b"data: {", b"data: : keepalive\n\ndata: {"),
    "empty events": PLAIN.replace(b"data: {", b"data:\n\nevent: ping\n\ndata: {"),
    "pings": b'event: ping\ndata: {}\n\nevent: ping\ndata: now\n\ndata: ping\n\ndata: {"type": "ping"}\n\n' + PLAIN,
    "ids and retries": PLAIN.replace(b"data: {", b"id: 1\nretry: 3\nevent: message\ndata: {"),
    "one object on many lines": SPREAD.encode() + b"data: [DONE]\n\n",
    "no blank line at the end": PLAIN.removesuffix(b"\n\n") + b"\n",
    "no line end at the end": PLAIN.removesuffix(b"\n\n"),
    "no [DONE], no blank line": sse(*ANSWER[:-1]).removesuffix(b"\n\n"),
    "escaped halves of characters": sse(*ANSWER).replace("\U0001f600".encode(), b"\\ud83d\\ude00"),
    "more after [DONE]": PLAIN + sse(chunk({"content": "never"})),
}


@pytest.mark.parametrize("size", [None, 1, 3, 64])
@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in FRAMINGS.items()])
def test_framings(body: bytes, size: int | None) -> None:
    """Every framing of the same answer gives the same answer, in one piece, byte by byte, and in between."""
    *partials, final = read(body, size)
    assert [partial.text for partial in partials] == [WORDS]
    assert final.text == WORDS
    assert final.content is not None
    [call] = [part.function_call for part in final.content.parts or () if part.function_call]
    assert (call.id, call.name, call.args) == ("a", "f", {"city": "東京 \U0001f5fc"})
    assert final.finish_reason == "STOP"


def test_a_character_cut_in_two_by_its_server() -> None:
    """Halves of a character in two chunks meet: in text, in reasoning and in arguments; a lone half is a sign."""
    high, low = "\\ud83d", "\\ude00"
    body = (
        sse(chunk({"content": "a<high>", "reasoning": "<high>"}), chunk({"content": "<low>b", "reasoning": "<low>"}))
        + sse(calls(fragment(0, "a", "f", '{"x":"<high>')), calls(fragment(0, args='<low>"}')))
        + sse(chunk({"content": "<high>"}), chunk({}, "stop"), DONE)
    )
    *_, final = read(body.replace(b"<high>", high.encode()).replace(b"<low>", low.encode()))
    assert final.content is not None
    thought, text, call = final.content.parts or ()
    assert (thought.text, text.text) == ("\U0001f600", "a\U0001f600b\ufffd")
    assert call.function_call is not None
    assert call.function_call.args == {"x": "\U0001f600"}
    final.model_dump_json()


MESSAGE: dict[str, Any] = {"role": "assistant", "content": "Hi", "tool_calls": None}
BODY = {"choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}}
JSON_BODIES = {
    "compact": json.dumps(BODY).encode(),
    "indented": json.dumps(BODY, indent=2).encode(),
    "after a byte order mark and blanks": b"\xef\xbb\xbf\r\n " + json.dumps(BODY).encode(),
    "without finish": json.dumps({"choices": [{"message": MESSAGE}]}).encode(),
    "chunks, one in each line": b"\n".join(
        json.dumps(one).encode() for one in (chunk({"content": "Hi"}), chunk({}, "stop"))
    ),
    "an old form": json.dumps({"choices": [{"text": "Hi", "finish_reason": "stop"}]}).encode(),
}


@pytest.mark.parametrize("size", [None, 1])
@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in JSON_BODIES.items()])
def test_json_where_a_stream_was_asked(body: bytes, size: int | None) -> None:
    """An answer in one JSON body, from a server that does not stream, is taken as it is."""
    [final] = read(body, size)
    assert (final.text, final.finish_reason) == ("Hi", "STOP")


@pytest.mark.parametrize("size", [None, 1])
@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        pytest.param(b"<!doctype html><p>Sign in</p>", ModelProtocolError, "web page.*v1", id="a web page"),
        pytest.param(b'{"choices": []}', ModelProtocolError, "no choices.*/v1", id="no choices"),
        pytest.param(b"[]", ModelProtocolError, "no choices", id="a list"),
        pytest.param(b'{"choices": [{"mess', ModelProtocolError, "no JSON", id="half a body"),
        pytest.param(b'{"status": "ok"}', ModelProtocolError, "no choices", id="another service"),
        pytest.param(b'{"error": {"message": "boom", "code": 429}}', ModelAnswerError, "boom", id="an error"),
        pytest.param(b'[{"error": {"message": "boom"}}]', ModelAnswerError, "boom", id="an error in a list"),
        pytest.param(b'{"detail": "boom"}', ModelAnswerError, "boom", id="a detail"),
        pytest.param(b'{"object": "error", "message": "boom"}', ModelAnswerError, "boom", id="an object error"),
        pytest.param(b'{"message": "boom", "code": 1214}', ModelAnswerError, "boom", id="a message with a code"),
        pytest.param(b'{"choices": [{"message": {}}]}', ModelEmptyAnswerError, "without", id="an empty message"),
        pytest.param(b"upstream connect error", ModelProtocolError, "no event", id="words"),
        pytest.param(b"", ModelStreamTruncatedError, "no finish", id="nothing"),
        pytest.param(b": hold on\n\n", ModelStreamTruncatedError, "no finish", id="comments alone"),
        pytest.param(b"data: [DONE]\n\n", ModelEmptyAnswerError, "without saying", id="[DONE] alone"),
        pytest.param(sse(chunk({"content": "a"})), ModelStreamTruncatedError, "no finish", id="no end"),
        pytest.param(
            sse(chunk({"content": "a"})) + b'data: {"choices":[{"de',
            ModelStreamTruncatedError,
            "no finish",
            id="half a chunk",
        ),
        pytest.param(b"event: error\ndata: boom\n\n", ModelAnswerError, "boom", id="an error event in words"),
        pytest.param(b'event: error\ndata: {"message": "boom"}\n\n', ModelAnswerError, "boom", id="an error event"),
        pytest.param(
            b'event: error\ndata: {"message": "boom"}', ModelAnswerError, "boom", id="an error event at the end"
        ),
    ],
)
def test_what_is_no_answer(body: bytes, size: int | None, error: type[ModelError], words: str) -> None:
    """What is no answer is an error that says so; nothing ends as an empty success."""
    with pytest.raises(error, match=words):
        read(body, size)


def _feed(reader: BodyReader, piece: bytes) -> None:
    for _ in range(100):
        list(reader.feed(piece))


def test_a_body_without_end() -> None:
    """An event, a line or a JSON body longer than the limit is an error before it is all in memory."""
    for limit, begin in (("body", b'{"'), ("event", b"data: "), ("line", b"x"), ("event", b"\ndata: x")):
        reader = BodyReader(limits=replace(WireLimits(), **{limit: 1000}))
        with pytest.raises(ModelAnswerTooLargeError, match=rf"1000 bytes; raise WireLimits\({limit}=") as caught:
            _feed(reader, begin + b" " * 100)
        assert (caught.value.limit, caught.value.most) == (limit, 1000)


def test_it_says_whose_answer_it_is() -> None:
    """An answer that is no chat names the server that gave it."""
    with pytest.raises(ModelProtocolError, match=r"http://here answered with a web page"):
        list(BodyReader("http://here").feed(b" <html>"))


@pytest.mark.parametrize("size", [None, 1])
def test_what_came_before_an_error(size: int | None) -> None:
    """The responses that stand before an error in the stream come before it, also when all of it is one piece."""
    body = sse(chunk({"content": "Hel"}), chunk({"content": "lo"}), {"error": "boom"})
    seen: list[str] = []
    reader = BodyReader()
    with pytest.raises(ModelAnswerError) as caught:
        _collect(reader, _cut(body, size), seen)
    assert (seen, caught.value.text) == (["Hel", "lo"], "Hello")


def _cut(body: bytes, size: int | None) -> list[bytes]:
    size = size or len(body)
    return [body[at : at + size] for at in range(0, len(body), size)]


def _collect(reader: BodyReader, pieces: list[bytes], seen: list[str]) -> None:
    for piece in pieces:
        for response in reader.feed(piece):
            seen.append(response.text)
