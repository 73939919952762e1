"""The client against a server that nobody here wrote: npm's @copilotkit/aimock, with its faults turned on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest

from rxagent.errors import (
    ModelError,
    ModelFirstByteTimeoutError,
    ModelHttpError,
    ModelIdleTimeoutError,
    ModelProtocolError,
    ModelStreamTruncatedError,
)
from rxagent.events import Content, FunctionResponse, Part
from rxagent.models import ChatCompletions, LlmRequest, Timeouts
from rxagent.streams.scope import CancelScope
from rxagent.testing.quirks_reading import ReadCall, Responses, read_model

from .aimock import missing, served

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")

STORY = "Es war einmal 日本語 😀 und noch viel mehr, bis zum Ende."
CALLS: list[dict[str, Any]] = [
    {"name": "get_weather", "arguments": {"city": "Paris", "note": "日本"}},
    {"name": "get_time", "arguments": {"zone": "Europe/Paris"}},
]
FIXTURES: list[dict[str, Any]] = [
    {"match": {"userMessage": "letters"}, "response": {"content": STORY}, "chunkSize": 1},
    {"match": {"userMessage": "lump"}, "response": {"content": STORY}, "chunkSize": 1000},
    {"match": {"userMessage": "slowly"}, "response": {"content": STORY}, "chunkSize": 20, "latency": 30},
    {"match": {"userMessage": "think"}, "response": {"content": STORY, "reasoning": "Let me see."}, "chunkSize": 4},
    {"match": {"userMessage": "tools", "hasToolResult": True}, "response": {"content": "It is warm."}},
    {"match": {"userMessage": "tools"}, "response": {"toolCalls": CALLS}, "chunkSize": 3},
    {"match": {"userMessage": "nothing"}, "response": {"toolCalls": [{"name": "now", "arguments": {}}]}},
    {"match": {"userMessage": "cut text"}, "response": {"content": STORY}, "chunkSize": 4, "latency": 10}
    | {"truncateAfterChunks": 4},
    {"match": {"userMessage": "cut call"}, "response": {"toolCalls": CALLS}, "chunkSize": 4, "latency": 10}
    | {"truncateAfterChunks": 5},
    {"match": {"userMessage": "leave"}, "response": {"content": STORY}, "chunkSize": 4, "latency": 20}
    | {"disconnectAfterMs": 100},
    {"match": {"userMessage": "limited"}, "response": {"error": {"message": "slow down"}, "status": 429}},
    {"match": {"userMessage": "busy"}, "response": {"error": {"message": "try later"}, "status": 503}},
    {"match": {"userMessage": "pause"}, "response": {"content": STORY}, "chunkSize": 10, "latency": 600},
    {"match": {"userMessage": "late"}, "response": {"content": STORY}, "streamingProfile": {"ttft": 5_000, "tps": 50}},
    {"match": {"userMessage": "faulty"}, "response": {"content": STORY}},
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's base URL."""
    with served(tmp_path_factory.mktemp("aimock"), FIXTURES) as base_url:
        yield base_url


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the client meant to wait; no time passes."""
    asked: list[float] = []
    monkeypatch.setattr(CancelScope, "sleep", lambda _, seconds: asked.append(seconds))
    return asked


def ask(
    url: str, *contents: str | Content, headers: Mapping[str, str] | None = None, timeouts: Timeouts | None = None
) -> Responses:
    """One streamed call with these messages."""
    request = LlmRequest([Content.user(one) if isinstance(one, str) else one for one in contents])
    with closing(ChatCompletions("any", url, headers=headers, timeouts=timeouts)) as model:
        return read_model(model, request)


@pytest.mark.parametrize("word", ["letters", "lump", "slowly"])
def test_text_in_chunks_of_any_size(url: str, word: str) -> None:
    """One character a chunk, all in one, or with pauses: the text is exact, and so is the sum of its pieces."""
    got = ask(url, word)
    assert (got.reading.text, got.reading.finish, got.error) == (STORY, "STOP", None)
    assert "".join(one.text for one in got.responses if one.partial) == STORY
    assert len(got.responses) > {"letters": 40, "lump": 1, "slowly": 3}[word]


def test_reasoning(url: str) -> None:
    """Reasoning ahead of the text becomes a thought."""
    assert ask(url, "think").reading[:2] == (STORY, "Let me see.")


def test_parallel_calls_and_their_results(url: str) -> None:
    """Two calls come out of fragments of three characters, and the server takes their results."""
    got = ask(url, "tools")
    assert got.reading.calls == tuple(ReadCall.of(call["name"], call["arguments"]) for call in CALLS)
    ids = [call.id or "" for call in got.calls]
    assert len(set(ids) - {""}) == 2
    answers = tuple(
        Part(function_response=FunctionResponse(id=call.id, name=call.name, response={"ok": True}))
        for call in got.calls
    )
    asked = got.responses[-1].content
    assert asked is not None
    assert ask(url, "tools", asked, Content(role="user", parts=answers)).reading.text == "It is warm."


def test_a_call_without_arguments(url: str) -> None:
    """A tool without parameters is called with none."""
    assert ask(url, "nothing").reading.calls == (ReadCall("now", "{}"),)


@pytest.mark.parametrize("word", ["cut text", "leave"])
def test_a_connection_that_breaks_in_the_text(url: str, word: str) -> None:
    """A text that is broken off is an error, which has what had come."""
    got = ask(url, word)
    assert isinstance(got.error, ModelStreamTruncatedError)
    assert got.error.text == got.reading.text
    assert STORY.startswith(got.error.text)
    assert 0 < len(got.error.text) < len(STORY)


def test_a_connection_that_breaks_in_a_call(url: str) -> None:
    """A call that is broken off is an error, and no call."""
    got = ask(url, "cut call")
    assert isinstance(got.error, ModelStreamTruncatedError)
    assert (got.calls, got.responses) == ((), ())


@pytest.mark.parametrize(("word", "status", "said"), [("limited", 429, "slow down"), ("busy", 503, "try later")])
def test_error_statuses(url: str, waits: list[float], word: str, status: int, said: str) -> None:
    """429 and 503 are tried again, and are then an error with the status and the server's words."""
    got = ask(url, word)
    assert isinstance(got.error, ModelHttpError)
    assert (got.error.status, len(waits)) == (status, 2)
    assert said in str(got.error)


def test_a_rate_limit_that_says_how_long(url: str, waits: list[float]) -> None:
    """The server's Retry-After is what the client waits."""
    got = ask(url, "faulty", headers={"x-aimock-chaos-ratelimit": "1"})
    assert isinstance(got.error, ModelHttpError)
    assert (got.error.status, waits) == (429, [1.0, 1.0])


@pytest.mark.parametrize(("fault", "kind"), [("malformed", ModelProtocolError), ("drop", ModelHttpError)])
def test_answers_that_are_none(url: str, waits: list[float], fault: str, kind: type[ModelError]) -> None:
    """Garbled JSON and a dropped request are errors of their kinds, never an empty success."""
    got = ask(url, "faulty", headers={f"x-aimock-chaos-{fault}": "1"})
    assert isinstance(got.error, kind)
    assert got.responses == ()


def test_a_connection_that_is_dropped_at_once(url: str, waits: list[float]) -> None:
    """A connection that ends before the headers is tried again, and is then an error."""
    got = ask(url, "faulty", headers={"x-aimock-chaos-disconnect": "1"})
    assert isinstance(got.error, ModelError)
    assert (got.responses, len(waits)) == ((), 2)


def test_silence_in_mid_answer(url: str) -> None:
    """A server that pauses longer than the idle limit is an error of that limit."""
    got = ask(url, "pause", timeouts=Timeouts(first_byte=10, idle=0.2))
    assert isinstance(got.error, ModelIdleTimeoutError)


def test_silence_before_the_headers(url: str) -> None:
    """A server that withholds its headers longer than the first-byte limit is an error of that limit."""
    got = ask(url, "late", timeouts=Timeouts(first_byte=0.2))
    assert isinstance(got.error, ModelFirstByteTimeoutError)
