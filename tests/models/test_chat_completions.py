"""ChatCompletions against a real socket: answers, connections, and what a process may do to them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest

from rxagent.events import FunctionCall
from rxagent.models import ChatCompletions
from rxagent.streams import CancelScope, pull
from rxagent.testing import call
from rxagent.testing.chat_server import (
    ChatServer,
    Turn,
    data,
    done,
    finish,
    stall,
    status,
    text,
    usage,
)

from .calling import ask, authority_file, question, server_tls


def test_one_script_for_text_and_calls() -> None:
    """Text comes as partials and one final response, calls in the final one; connections are used again."""
    with ChatServer([text("Hel", "lo"), [call("get_weather", city="Oslo")], text("fine")]) as server:
        model = ChatCompletions("any", server.base_url)
        assert [(part.partial, part.text) for part in ask(model, stream=True)] == [
            (True, "Hel"),
            (True, "lo"),
            (None, "Hello"),
        ]
        [final] = ask(model)
        assert final.content is not None
        [part] = final.content.parts or ()
        assert part.function_call == FunctionCall(id="call_2_0", name="get_weather", args={"city": "Oslo"})
        assert final.usage_metadata is not None
        assert [response.text for response in ask(model)] == ["fine"]
        assert server.connections == 1
        model.close()


def test_each_subscription_is_a_call() -> None:
    """The Observable is cold: it asks when it is subscribed, and again when it is subscribed again."""
    with ChatServer([text("one"), text("two")]) as server:
        model = ChatCompletions("any", server.base_url)
        source = model.generate_content(question())
        assert server.requests == []
        assert [next(pull(source, CancelScope())).text for _ in range(2)] == ["one", "two"]
        model.close()


@pytest.mark.parametrize("split", [None, 1, 3])
@pytest.mark.parametrize("gzip", [False, True])
def test_any_cut_of_the_bytes(split: int | None, gzip: bool) -> None:
    """CJK and emoji in text and arguments arrive whole, however the writes are cut."""
    turn = Turn(["日本", "🙂", FunctionCall(name="f", args={"x": "語🙂"})], split=split, gzip=gzip)
    with ChatServer([turn]) as server:
        model = ChatCompletions("any", server.base_url)
        [final] = ask(model)
        assert final.content is not None
        assert final.text == "日本🙂"
        assert [part.function_call.args for part in final.content.parts or () if part.function_call] == [{"x": "語🙂"}]
        model.close()


def test_a_body_instead_of_a_stream() -> None:
    """A JSON body where a stream was asked for is an answer too."""
    with ChatServer([status(200, {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]})]) as server:
        model = ChatCompletions("any", server.base_url)
        assert [(part.partial, part.text) for part in ask(model, stream=True)] == [(None, "Hello")]
        model.close()


def test_events_that_come_at_once_and_late_usage() -> None:
    """What follows the finish is read too: usage, and an end without [DONE]."""
    turn = [data({"choices": [{"index": 0, "delta": {"content": "a"}}]}), finish(), usage(3, 4)]
    with ChatServer([turn]) as server:
        model = ChatCompletions("any", server.base_url)
        [final] = ask(model)
        assert final.usage_metadata is not None
        assert final.usage_metadata.total_token_count == 7
        model.close()


def test_tls() -> None:
    """Over TLS with an authority of one's own; connections are used again there too."""
    with ChatServer([text("one"), text("two")], tls=server_tls()) as server:
        model = ChatCompletions("any", server.base_url, verify=authority_file())
        assert [ask(model)[-1].text for _ in range(2)] == ["one", "two"]
        assert server.connections == 1
        model.close()


def test_a_connection_that_is_not_let_go() -> None:
    """A server that keeps the connection open after [DONE] holds nobody up; that connection is given up."""
    with ChatServer([["a", finish(), done(), stall()], text("b")]) as server:
        model = ChatCompletions("any", server.base_url)
        began = time.monotonic()
        assert ask(model)[-1].text == "a"
        assert time.monotonic() - began < 2
        assert ask(model)[-1].text == "b"
        assert server.connections == 2
        model.close()


def test_default_timeout_of_sockets() -> None:
    """A process-wide default timeout for sockets changes nothing."""
    socket.setdefaulttimeout(0.01)
    try:
        with ChatServer([["Hel", "lo"]]) as server:
            model = ChatCompletions("any", server.base_url)
            assert ask(model)[-1].text == "Hello"
            model.close()
    finally:
        socket.setdefaulttimeout(None)


def test_requests_is_loaded_late() -> None:
    """Importing and constructing loads no requests; the first call does."""
    program = (
        "import sys; from rxagent.models import ChatCompletions, LlmRegistry;"
        "ChatCompletions('m', 'http://127.0.0.1:1/v1'); assert 'requests' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_forked_child_has_connections_of_its_own() -> None:
    """A child does not speak on its parent's connection."""
    with ChatServer([text("parent"), text("child"), text("parent again")]) as server:
        model = ChatCompletions("any", server.base_url)
        ask(model)
        child = os.fork()
        if child == 0:
            good = ask(model)[-1].text == "child"
            os._exit(0 if good else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert ask(model)[-1].text == "parent again"
        assert server.connections == 2
        model.close()


def test_request_content_goes_out() -> None:
    """What was asked is what the server reads."""
    with ChatServer([text("fine")]) as server:
        model = ChatCompletions("any", server.base_url)
        ask(model, question("Grüße 🙂"))
        assert server.requests[0].json["messages"] == [{"role": "user", "content": "Grüße 🙂"}]
        model.close()
