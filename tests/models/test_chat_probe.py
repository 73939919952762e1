"""Probes of a server: what they find, and the profile that comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from rxagent.errors import ModelHttpError
from rxagent.events import FunctionCall
from rxagent.models import ChatCompletions, Profile
from rxagent.models.chat_address import Address
from rxagent.models.chat_exchange import Asker
from rxagent.models.chat_probe import Finding, Probes
from rxagent.models.limits import Timeouts
from rxagent.testing.chat_script import TurnLike, reasoning
from rxagent.testing.chat_server import ChatServer, Item, Received, Turn, stall, status, text, usage

from .calling import ask

Json = dict[str, Any]
Refuse = Callable[[Json], str]


def call(city: str) -> FunctionCall:
    return FunctionCall(name="get_weather", args={"city": city})


def answer_to(request: Json) -> list[Item]:
    """What a server that can do everything says."""
    last = request["messages"][-1]
    if last["role"] == "tool":
        return text("21 degrees")
    if "tools" in request:
        return [call("Oslo"), call("Lima")] if "Lima" in last["content"] else [call("Oslo")]
    if "response_format" in request:
        return text('{"answer": 5}')
    if "one thousand" in last["content"]:
        return [*text(*map(str, range(9))), stall()]
    return [reasoning("hm"), *text("Pa", "ris")]


def nothing(request: Json) -> str:
    return ""


class Double:
    """A server: what it refuses, who it is, and what it says of its running requests, one word for each look."""

    def __init__(self, refuse: Refuse = nothing, models: Turn | None = None, slots: list[int] | None = None) -> None:
        self.refuse = refuse
        self.models = models or status(404)
        self.slots = slots
        self.asked: list[Json] = []

    def __call__(self, received: Received) -> TurnLike:
        if received.method == "GET":
            if received.path.endswith("/models"):
                return self.models
            if received.path == "/slots" and self.slots is not None:
                running = self.slots.pop(0)
                return status(200, [{"is_processing": number < running} for number in range(4)])
            return status(404)
        request = received.read().json
        self.asked.append(request)
        if complaint := self.refuse(request):
            return status(400, {"error": {"message": complaint}})
        return answer_to(request)


@contextmanager
def probing(double: Callable[[Received], TurnLike], model: str = "m") -> Iterator[tuple[Probes, Asker]]:
    with ChatServer(double) as server:
        asker = Asker(Address(server.base_url, None, {}), model, Timeouts(first_byte=5, idle=5))
        try:
            yield Probes(asker, server.base_url), asker
        finally:
            asker.close()


def found(probes: Probes) -> Mapping[str, Finding]:
    return {finding.probe: finding for finding in probes.run()}


def test_a_server_that_can_do_everything() -> None:
    """About ten requests find that all is well; the profile is the default one."""
    with probing(Double(slots=[1, 1, 0])) as (probes, asker):
        findings = found(probes)
        assert asker.count <= 11
    verdicts = {name: finding.verdict for name, finding in findings.items()}
    assert verdicts == dict.fromkeys(
        (
            "stream",
            "usage",
            "reasoning",
            "tool call",
            "parallel calls",
            "tool result",
            "reasoning back",
            "JSON schema",
            "images",
            "cancel",
        ),
        "yes",
    )
    assert "ends with [DONE]" in findings["stream"].detail
    assert findings["cancel"].detail.startswith("idle after")
    assert (probes.profile.name, probes.learned, probes.kind) == ("default", {}, None)


def picky(request: Json) -> str:
    """The complaints of several servers, in their own words."""
    last = request["messages"][-1]
    if "stream_options" in request:
        return "Unrecognized request argument supplied: stream_options"
    if "max_tokens" in request:
        return "Unsupported parameter: 'max_tokens' is not supported with this model."
    if request["messages"][0]["role"] == "system":
        return "System role not supported"
    for message in request["messages"]:
        if message["role"] == "assistant":
            if message.get("content") is None:
                return "content: Input should be a valid string"
            if "reasoning_content" not in message:
                return "The `reasoning_content` in the thinking mode must be passed back to the API."
            if len(message["tool_calls"][0]["id"]) != 9:
                return "Tool call id was call_0 but must be a-z, A-Z, 0-9, with a length of 9."
    if "response_format" in request:
        return "This response_format type is unavailable now"
    return "unknown variant `image_url`, expected `text`" if isinstance(last["content"], list) else ""


def test_a_server_that_wants_all_otherwise() -> None:
    """What a server refuses is learned from its words; a client with the profile that comes of it is not refused."""
    double = Double(picky)
    with probing(double) as (probes, _):
        findings = found(probes)
    assert findings["tool result"].verdict == "odd"
    assert [findings[name].verdict for name in ("JSON schema", "images")] == ["no", "no"]
    assert probes.learned == {
        "stream_usage": False,
        "output_limit": "max_completion_tokens",
        "system_role": "developer",
        "reasoning_required": True,
        "echo_reasoning": "tool_turns",
        "content_beside_calls": "empty",
        "call_ids": "nine",
        "json_shapes": "object",
        "inputs": frozenset({"audio", "file"}),
    }
    assert isinstance(probes.profile, Profile)
    with ChatServer(double) as server:
        assert ask(ChatCompletions("m", server.base_url, retries=0, profile=probes.profile))[-1].text == "Paris"


@pytest.mark.parametrize(
    ("models", "kind"),
    [
        (status(200, {"data": [{"id": "m", "owned_by": "vllm"}]}), "vllm"),
        (status(200, {"data": [{"id": "m", "owned_by": "library"}]}), "ollama"),
        (status(200, {"data": []}, headers={"Server": "llama.cpp"}), "llama.cpp"),
        (status(200, {"data": [{"id": "m", "owned_by": "nobody"}]}), None),
        (status(200, "no JSON"), None),
        (status(401, "no key"), None),
    ],
)
def test_who_the_server_says_it_is(models: Turn, kind: str | None) -> None:
    """A server that names itself among its models gets the profile of its kind."""
    with probing(Double(models=models)) as (probes, _):
        assert probes.kind == kind
        assert probes.profile.name == (kind or "default")


@pytest.mark.parametrize(
    ("slots", "verdict", "detail"), [([1, 0], "yes", "idle after"), (None, "yes", "the next answer began")]
)
def test_how_soon_the_server_stops(slots: list[int] | None, verdict: str, detail: str) -> None:
    """A server is watched until it is idle where it says so, else by how soon it answers the next request."""
    with probing(Double(slots=slots)) as (probes, _):
        finding = found(probes)["cancel"]
    assert (finding.verdict, finding.detail.startswith(detail)) == (verdict, True)


def test_a_server_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that still works long after its client has gone is told as such."""
    monkeypatch.setattr("rxagent.models.chat_probe._WATCHED_SECONDS", 0.2)
    with probing(Double(slots=[2] * 1000)) as (probes, _):
        finding = found(probes)["cancel"]
    assert finding.verdict == "no"
    assert finding.detail.startswith("2 still running after")


def simple(received: Received) -> TurnLike:
    """A server that does not stream, calls no tools, and reports nothing."""
    if received.method == "GET":
        return status(404)
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    return status(200, {"choices": [choice]})


def test_a_server_that_can_do_little() -> None:
    """A server without streams, usage and tools is examined to the end."""
    with probing(simple) as (probes, _):
        findings = found(probes)
    verdicts = [findings[name].verdict for name in ("stream", "usage", "reasoning", "tool call", "cancel")]
    assert verdicts == ["no", "no", "no", "no", "unknown"]
    assert findings["JSON schema"].verdict == "odd"


def test_a_server_that_does_not_answer() -> None:
    """Without a first answer there is nothing to find: the server's refusal is the error."""
    refusal = status(401, {"error": {"message": "no key"}})
    with probing(lambda _: refusal) as (probes, _), pytest.raises(ModelHttpError, match="no key"):
        found(probes)


def test_odd_calls_are_told() -> None:
    """Calls without index and id are read, and told as odd."""

    def script(received: Received) -> TurnLike:
        request = received.read().json if received.method == "POST" else {}
        if "tools" not in request:
            return status(404) if not request else answer_to(request)
        entry = {"function": {"name": "get_weather", "arguments": "{}"}}
        body = {"choices": [{"delta": {"tool_calls": [entry]}, "finish_reason": "tool_calls"}]}
        return Turn([f"data: {json.dumps(body)}\n\ndata: [DONE]\n\n".encode(), usage(1, 1)])

    with probing(script) as (probes, _):
        finding = found(probes)["tool call"]
    assert finding.verdict == "odd"
    assert finding.detail.endswith("no index; no id")
