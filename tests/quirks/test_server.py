"""The stand-alone server: what it says to any client, and what it refuses."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from contextlib import closing
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from rxagent.errors import ModelHttpError
from rxagent.events import Content, FunctionResponse, Part
from rxagent.models import ChatCompletions, GenerateContentConfig, LlmRequest
from rxagent.models.profile import Profile
from rxagent.models.request import FunctionDeclaration
from rxagent.testing.quirks_corpus import quirk, quirks
from rxagent.testing.quirks_file import Refusal
from rxagent.testing.quirks_reading import Responses, read_model
from rxagent.testing.quirks_server import QuirkServer, pieces_of, refused

USER = {"role": "user", "content": "Hi"}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ANSWER = {"role": "tool", "tool_call_id": "a", "content": "1"}


def calling(**fields: Any) -> dict[str, Any]:
    """An assistant's message with a call."""
    return {"role": "assistant", "content": None, "tool_calls": [CALL], **fields}


def send(url: str, body: object) -> tuple[int, dict[str, str], str]:
    """Status, headers in lower case, and body of one request."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/chat/completions", content, {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=10) as answer:
            return answer.status, {key.lower(): value for key, value in answer.headers.items()}, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, {key.lower(): value for key, value in error.headers.items()}, error.read().decode()


@pytest.mark.parametrize(
    ("refusal", "bad", "good"),
    [
        ("max_tokens", {"max_tokens": 5}, {"max_completion_tokens": 5}),
        ("max_completion_tokens", {"max_completion_tokens": 5}, {"max_tokens": 5}),
        ("stream_options", {"stream_options": {}}, {}),
        ("parallel_tool_calls", {"parallel_tool_calls": False}, {}),
        ("strict", {"tools": [{"function": {"strict": True}}]}, {"tools": [{"function": {}}]}),
        ("strict", {"response_format": {"json_schema": {"strict": True}}}, {"response_format": {"type": "text"}}),
        ("developer_role", {"messages": [{"role": "developer"}]}, {"messages": [{"role": "system"}]}),
        ("system_role", {"messages": [{"role": "system"}]}, {"messages": [{"role": "developer"}]}),
        ("null_content", {"messages": [calling()]}, {"messages": [calling(content="")]}),
        ("text_content", {"messages": [calling(content="")]}, {"messages": [calling()]}),
        ("reasoning_missing", {"messages": [calling()]}, {"messages": [calling(reasoning_content="x")]}),
        ("reasoning_echoed", {"messages": [calling(reasoning="x")]}, {"messages": [calling()]}),
        ("repeated_call_ids", {"messages": [calling(tool_calls=[CALL, CALL])]}, {"messages": [calling()]}),
    ],
)
def test_what_is_refused(refusal: Refusal, bad: dict[str, Any], good: dict[str, Any]) -> None:
    """A refusal finds the field or the form that it names, and nothing else."""
    assert refused({"messages": [USER], **bad}, [refusal])
    assert not refused({"messages": [USER], **good}, [refusal])
    assert not refused({"messages": [USER], **bad}, [])


def test_it_says_the_bytes_of_the_quirk() -> None:
    """The body is the file's, byte for byte, also when each byte is a write of its own."""
    for cut in (pieces_of(None), pieces_of(1)):
        with QuirkServer(cut=cut) as server:
            status, headers, body = send(server.base_url, {"model": "calls-no-index", "messages": [USER]})
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        assert body.encode() == quirk("calls-no-index").body


def test_a_request_that_is_none_is_told_so() -> None:
    """No JSON, no model, an unknown model: 400 or 404 with a message; the server goes on."""
    with QuirkServer([quirk("calls-no-index")]) as server:
        assert send(server.base_url, b"{")[0] == 400
        assert send(server.base_url, {"messages": [USER]})[0] == 400
        assert send(server.base_url, {"model": "calls-no-index", "messages": []})[0] == 400
        status, _, body = send(server.base_url, {"model": "tea", "messages": [USER]})
        assert (status, "'tea'" in body) == (404, True)
        assert send(server.base_url, {"model": "calls-no-index", "messages": [USER]})[0] == 200


def test_a_repeat_gets_the_next_answer() -> None:
    """The same request again gets the next answer, then the first one again; another request is counted apart."""
    with QuirkServer() as server:
        mine = {"model": "wait-seconds", "messages": [USER]}
        other = {"model": "wait-seconds", "messages": [USER, USER]}
        statuses = [send(server.base_url, body)[0] for body in (mine, other, mine, mine, other)]
    assert statuses == [429, 429, 200, 429, 200]


def test_a_date_is_counted_from_now() -> None:
    """A header's `{in 3 s}` is the date three seconds from the answer."""
    with QuirkServer() as server:
        _, headers, _ = send(server.base_url, {"model": "wait-until-a-date", "messages": [USER]})
    assert 0 < parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time() <= 3


def test_an_agent_comes_to_its_end() -> None:
    """After a tool's result every quirk gives a plain answer."""
    with QuirkServer() as server:
        for name in ("calls-no-index", "cut-call-finish-length"):
            _, _, body = send(server.base_url, {"model": name, "messages": [USER, calling(), ANSWER]})
            assert "The tool has answered." in body


# -- the client's second turn ------------------------------------------------------------------------------------------


class Tool:
    """A tool's declaration."""

    name = "f"

    def declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(name="f", description="x", parameters={"type": "object", "properties": {}})


def two_turns(url: str, name: str, profile: Profile) -> tuple[Responses, Responses]:
    """A call of the model, and one with what it said and the results of its tools."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}

    def request(*contents: Content) -> LlmRequest:
        config = GenerateContentConfig(max_output_tokens=50, response_schema=schema)
        return LlmRequest(contents, system_instruction="Be brief.", tools=[Tool()], config=config)

    with closing(ChatCompletions(name, url, profile=profile)) as model:
        first = read_model(model, request(Content.user("Hi")))
        said = first.responses[-1].content if first.responses else None
        if said is None or not first.calls:
            return first, first
        results = tuple(
            Part(function_response=FunctionResponse(id=call.id, name=call.name, response={"ok": 1}))
            for call in first.calls
        )
        return first, read_model(model, request(Content.user("Hi"), said, Content(role="user", parts=results)))


RIGHT: dict[Refusal, tuple[dict[str, Any], dict[str, Any] | None]] = {  # a profile that fits, and one that does not
    "reasoning_missing": ({"echo_reasoning": "tool_turns"}, {"echo_reasoning": "never"}),
    "reasoning_echoed": ({"echo_reasoning": "never"}, {"echo_reasoning": "always"}),
    "null_content": ({"content_beside_calls": "empty"}, {"content_beside_calls": "null"}),
    "text_content": ({"content_beside_calls": "null"}, {"content_beside_calls": "empty"}),
    "repeated_call_ids": ({}, None),
    "max_tokens": ({"output_limit": "max_completion_tokens"}, {}),
    "max_completion_tokens": ({}, {"output_limit": "max_completion_tokens"}),
    "stream_options": ({"stream_usage": False}, None),  # it is asked again without, by itself
    "parallel_tool_calls": ({}, {"parallel_calls": False}),
    "developer_role": ({}, {"system_role": "developer"}),
    "system_role": ({"system_role": "developer"}, {}),
    "strict": ({}, {"strict_schema": True}),
}


@pytest.mark.parametrize("name", [one.name for one in quirks() if one.refuses])
def test_a_profile_gives_a_server_what_it_wants(name: str) -> None:
    """With the profile that fits, both turns go well; with another one the server's 400 comes out as an error."""
    (refusal,) = quirk(name).refuses
    fits, fails = RIGHT[refusal]
    with QuirkServer() as server:
        first, second = two_turns(server.base_url, name, Profile(**fits))
        assert first.reading == quirk(name).expected
        assert second.error is None
        assert second.reading.text == ("The tool has answered." if first.calls else quirk(name).expected.text)
        if fails is not None:
            _, second = two_turns(server.base_url, name, Profile(**fails))
            assert isinstance(second.error, ModelHttpError)
            assert second.error.status == 400
