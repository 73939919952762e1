"""Both directions in whole runs: what a server sent is stored with the event, and goes back to it from the database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.models import ChatCompletions, Profile, profile_named
from rxagent.runner import Runner
from rxagent.sessions import SqliteSessionService
from rxagent.testing.chat_script import TurnLike
from rxagent.testing.chat_server import ChatServer, Received, data, done, status, text

from .wire_words import calls, chunk, fragment

Json = dict[str, Any]
SIGNED = {"google": {"thought_signature": "sig"}}
DETAILS = [{"type": "reasoning.encrypted", "data": "xyz"}]


def t() -> dict[str, bool]:
    """A tool."""
    return {"ok": True}


def calling_messages(request: Json) -> list[Json]:
    """The assistant's messages with calls in a request."""
    return [message for message in request["messages"] if message.get("tool_calls")]


def needs_reasoning(request: Json) -> str:
    missing = any("reasoning_content" not in message for message in calling_messages(request))
    return "The `reasoning_content` in the thinking mode must be passed back to the API." if missing else ""


def refuses_reasoning(request: Json) -> str:
    echoed = any("reasoning_content" in message for message in request["messages"])
    return "reasoning_content must not be in the messages" if echoed else ""


def server_that(complains: Callable[[Json], str]) -> Callable[[Received], TurnLike]:
    """Calls the tool on a new question, answers after its result, and complains first."""

    def script(received: Received) -> TurnLike:
        request = received.read().json
        if complaint := complains(request):
            return status(400, {"error": {"message": complaint}})
        if request["messages"][-1]["role"] == "tool":
            return text("Done.")
        thinking = chunk({"reasoning_content": "use t", "reasoning_details": DETAILS})
        entry = fragment(0, "call_0", "t", "{}", extra_content=SIGNED)
        return [data(thinking), data(calls(entry, finish="tool_calls")), done()]

    return script


def two_turns(server: ChatServer, folder: Path, profile: Profile | str) -> list[Json]:
    """Two turns of one session, each with a service of its own over the same file; the requests that were sent."""
    for question in ("first", "second"):
        service = SqliteSessionService(folder / "s.db")
        model = ChatCompletions("m", server.base_url, retries=0, profile=profile)
        try:
            runner = Runner(LlmAgent(name="a", model=model, tools=[t]), session_service=service)
            assert [event.text for event in runner.run("me", "s", question)][-1] == "Done."
        finally:
            service.close()
            model.close()
    return [received.json for received in server.requests]


@pytest.mark.parametrize(
    ("complains", "profile"),
    [(needs_reasoning, "deepseek"), (refuses_reasoning, "mistral"), (refuses_reasoning, "default")],
    ids=["required", "refused, Mistral", "refused"],
)
def test_servers_that_want_the_opposite(complains: Callable[[Json], str], profile: str, tmp_path: Path) -> None:
    """One server refuses a request without the reasoning beside calls, another one with it: both work by profile."""
    with ChatServer(server_that(complains)) as server:
        requests = two_turns(server, tmp_path, profile)
    assert len(requests) == 4
    kept = [message.get("reasoning_content") for message in calling_messages(requests[-1])]
    assert kept == (["use t"] * 2 if profile == "deepseek" else [None] * 2)


def test_what_the_server_sent_goes_back(tmp_path: Path) -> None:
    """Thought signatures and reasoning details come back from the database as they were sent, call by call."""
    with ChatServer(server_that(lambda _: "")) as server:
        requests = two_turns(server, tmp_path, "default")
    for message in calling_messages(requests[-1]):
        assert message["reasoning_details"] == DETAILS
        assert [entry["extra_content"] for entry in message["tool_calls"]] == [SIGNED]
    ids = [entry["id"] for message in calling_messages(requests[-1]) for entry in message["tool_calls"]]
    answered = [message["tool_call_id"] for message in requests[-1]["messages"] if message["role"] == "tool"]
    assert ids == answered
    assert len(set(ids)) == 2, "the server has named both calls call_0"


def test_nothing_goes_back_to_another_kind_of_server(tmp_path: Path) -> None:
    """The same session goes on at a server that knows nothing of these fields, and gets ids that it takes."""
    with ChatServer(server_that(lambda _: "")) as server:
        requests = two_turns(server, tmp_path, profile_named("mistral", "m"))
    assert "stream_options" not in requests[0]
    for message in calling_messages(requests[-1]):
        assert message.keys() == {"role", "content", "tool_calls"}
        [entry] = message["tool_calls"]
        assert entry.keys() == {"id", "type", "function"}
        assert len(entry["id"]) == 9
