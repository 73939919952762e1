"""The scripted server: it says what its script says, and knows what was asked and when the client went."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from rxagent.events import Part, UsageMetadata
from rxagent.models import ChatCompletions
from rxagent.testing import ScriptedModel, call
from rxagent.testing.chat_server import ChatServer, Item, Turn, close, pause, stall, tell, text, wait, wire

from .calling import CallOnThread, ask


def test_one_script_for_model_and_server() -> None:
    """A script of texts, parts and usage says the same as a ScriptedModel and as a server."""
    turn: list[str | Part | UsageMetadata] = [
        Part(text="hm", thought=True),
        "Hel",
        "lo",
        call.with_id("c1", "f", x=1),
        UsageMetadata(prompt_token_count=1, candidates_token_count=2, total_token_count=3),
    ]
    with ChatServer([turn]) as server:
        model = ChatCompletions("any", server.base_url)
        [sent] = ask(model)
        model.close()
    [scripted] = ask(ScriptedModel(turn))
    assert (sent.content, sent.usage_metadata) == (scripted.content, scripted.usage_metadata)


def test_exact_bytes() -> None:
    """With framing "none" the items are the whole answer, to the byte."""
    exact = b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n"
    with ChatServer([Turn([wire(exact), b"body", close()], framing="none")]) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b"GET /x HTTP/1.1\r\n\r\n")
            with client.makefile("rb") as answer:
                assert answer.read() == exact + b"body"
        assert (server.requests[0].method, server.requests[0].path) == ("GET", "/x")


def test_gates() -> None:
    """A script waits for the test, and the test for the script."""
    here, go_on = threading.Event(), threading.Event()
    with ChatServer([["a", tell(here), wait(go_on), "b"]]) as server:
        model = ChatCompletions("any", server.base_url)
        going = CallOnThread(model)
        assert here.wait(5)
        assert going.first.wait(5)
        assert [response.text for response in going.responses] == ["a"]
        go_on.set()
        going.join()
        assert going.responses[-1].text == "ab"
        model.close()


@pytest.mark.parametrize("item", [pause(30), stall(), wait(threading.Event())], ids=["pause", "stall", "wait"])
def test_it_sees_the_client_go(item: Item) -> None:
    """The server knows when the client went, whatever it is waiting for."""
    with ChatServer([["a", item]]) as server:
        model = ChatCompletions("any", server.base_url)
        going = CallOnThread(model)
        assert going.first.wait(5)
        [received] = server.requests
        assert received.gone_at is None
        before = time.monotonic()
        going.cancel()
        gone = received.wait_gone(5)
        assert gone is not None
        assert before <= gone <= time.monotonic()


def test_beyond_the_script() -> None:
    """A request beyond the script is told so; one that never comes is a TimeoutError."""
    with ChatServer([text("one")]) as server:
        model = ChatCompletions("any", server.base_url, retries=0)
        ask(model)
        with pytest.raises(Exception, match="the script has no turn 2"):
            ask(model)
        with pytest.raises(TimeoutError, match="2 requests"):
            server.wait_requests(3, timeout=0.01)
        model.close()


def test_close_ends_everything() -> None:
    """Closing ends connections in every state: stalled, idle, in mid-handshake; the fixture finds no thread left."""
    with ChatServer([["a", stall()]]) as server:
        model = ChatCompletions("any", server.base_url)
        going = CallOnThread(model)
        assert going.first.wait(5)
        idle = socket.create_connection(("127.0.0.1", server.port))
    going.join()
    assert not going.was_stopped
    idle.close()
    model.close()
