"""ChatCompletions against a real socket: answers, errors that say what to do, retries, connections."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from typing import Any

import pytest

from rxagent.errors import (
    ConfigError,
    ModelAnswerError,
    ModelConnectError,
    ModelError,
    ModelHttpError,
    ModelProtocolError,
    ModelStreamTruncatedError,
    ModelTlsError,
    NameLookupError,
    TooManyOpenFilesError,
)
from rxagent.events import FunctionCall
from rxagent.models import ChatCompletions
from rxagent.streams import CancelScope, pull
from rxagent.testing import call
from rxagent.testing.chat_server import (
    ChatServer,
    Item,
    Turn,
    close,
    data,
    done,
    finish,
    reset,
    stall,
    status,
    text,
    usage,
)

from .calling import ask, authority_file, question, server_tls

SECRET = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server, key or proxy of the machine's own."""
    for name in list(os.environ):
        if name.lower().endswith(("_proxy", "_base_url", "_api_key", "_ca_bundle")):
            monkeypatch.delenv(name)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that calls make, none of which takes any time."""
    made: list[float] = []
    monkeypatch.setattr(CancelScope, "sleep", lambda scope, seconds: made.append(seconds))
    return made


def failing(turn: Turn | list[Any], kind: type[ModelError], match: str, **options: Any) -> ModelError:
    """The error of a call to a server that answers so."""
    with ChatServer([turn]) as server:
        model = ChatCompletions("qwen3", server.base_url, SECRET, retries=0, **options)
        with pytest.raises(kind, match=match) as caught:
            ask(model)
        model.close()
    _has_no_secret(caught.value)
    return caught.value


def _has_no_secret(error: BaseException) -> None:
    seen: BaseException | None = error
    while seen is not None:
        assert SECRET not in f"{seen} {seen!r} {vars(seen)}"
        seen = seen.__cause__ or seen.__context__


# -- answers -----------------------------------------------------------------------------------------------------------


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


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (400, "its message says why"),
        (401, "set RXAGENT_API_KEY"),
        (403, "may not use the model 'qwen3'"),
        (404, "ends in /v1"),
        (413, "too large"),
        (429, "too many requests"),
        (500, "try later|try again later"),
        (302, "redirects to"),
    ],
)
def test_error_statuses(code: int, advice: str) -> None:
    """An error status says what the server said and what to do next."""
    body = {"error": {"message": f"no {SECRET} please"}}
    error = failing(status(code, body, headers={"Location": "https://elsewhere.test/v1"}), ModelHttpError, advice)
    assert isinstance(error, ModelHttpError)
    assert error.status == code
    assert "no *** please" in str(error)
    assert "***" in error.body


@pytest.mark.parametrize("body", ['[{"error": {"message": "odd"}}]', '{"detail": "odd"}', '{"message": "odd"}'])
def test_places_of_the_message(body: str) -> None:
    """The server's message is found in the places where servers put it."""
    failing(status(400, body), ModelHttpError, "odd")


def test_a_web_page() -> None:
    """A web page instead of an answer says that base_url is wrong, with any status."""
    failing(status(200, "<!doctype html><html>"), ModelProtocolError, "a web page.*/v1")
    failing(status(404, "<html>"), ModelHttpError, "a web page.*ends in /v1")


def test_no_chat_completion() -> None:
    """JSON that is no chat completion says so."""
    failing(status(200, {"status": "ok"}), ModelProtocolError, "no choices.*/v1")
    failing(status(200, ""), ModelStreamTruncatedError, "stopped before its end")


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
@pytest.mark.parametrize("end", [close, reset])
def test_a_broken_answer(framing: Any, end: Any) -> None:
    """An answer that breaks off is truncated, with the text so far, however its end would have been told."""
    error = failing(Turn(["Hel", "lo", end()], framing=framing), ModelStreamTruncatedError, "ask again")
    if end is close:  # a reset may take back what was not read yet
        assert getattr(error, "text", "") == "Hello"


def test_an_error_inside_an_answer() -> None:
    """An error object in mid-answer is an error with its status and the text so far."""
    error = failing(["Hello", data({"error": {"code": 502, "message": "boom"}})], ModelAnswerError, "boom")
    assert isinstance(error, ModelAnswerError)
    assert (error.status, error.text) == (502, "Hello")


def test_no_server() -> None:
    """A refused connection and an unknown name say where they wanted to go."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    model = ChatCompletions("any", f"http://127.0.0.1:{port}/v1", SECRET, retries=0)
    with pytest.raises(ModelConnectError, match=rf"127\.0\.0\.1:{port}.*refused.*is the server running"):
        ask(model)
    model = ChatCompletions("any", "http://nobody.invalid/v1", SECRET, retries=0)
    with pytest.raises(NameLookupError, match=r"nobody\.invalid.*check the host"):
        ask(model)


def test_no_answer_at_all() -> None:
    """A server that closes without an answer is a connection error."""
    failing(Turn([close()], framing="none"), ModelConnectError, "without an answer")


def test_what_is_no_http() -> None:
    """A server that does not speak HTTP is a connection error that says so."""
    failing(Turn([b"SSH-2.0-x\r\n", close()], framing="none"), ModelConnectError, "not HTTP")


def test_tls_errors() -> None:
    """An unknown authority and a server without TLS say so, and are not tried again."""
    with ChatServer([text("never")], tls=server_tls()) as server:
        model = ChatCompletions("any", server.base_url, SECRET)
        with pytest.raises(ModelTlsError, match=r"not trusted.*verify='ca.pem'") as caught:
            ask(model)
        _has_no_secret(caught.value)
        assert server.connections == 1
    with ChatServer([text("never")]) as server:
        model = ChatCompletions("any", f"https://127.0.0.1:{server.port}/v1", SECRET)
        with pytest.raises(ModelTlsError, match="does the server speak https"):
            ask(model)


def test_no_descriptor_left() -> None:
    """A process without descriptors gets an error that names the cause, not a failed name or connection."""
    with ChatServer([text("warm")]) as server:
        model = ChatCompletions("any", server.base_url, retries=0)
        local = ChatCompletions("any", f"http://localhost:{server.port}/v1", retries=0)
        ask(model)
        model.close()
        for thread in threading.enumerate():  # the server's side of the first call: its descriptor must be free by now
            if thread.name.startswith("rxagent-chat-server-"):
                thread.join(5)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        holders: list[int] = []
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 4, hard))
            with contextlib.suppress(OSError):
                while True:
                    holders.append(os.dup(0))
            for asked in (model, local):
                with pytest.raises(TooManyOpenFilesError, match="ulimit -n"):
                    ask(asked)
            os.close(holders.pop())  # enough for the socket, not for its guard
            with pytest.raises(TooManyOpenFilesError):
                ask(model)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for holder in holders:
                os.close(holder)


# -- retries -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504])
def test_retried_statuses(code: int, pauses: list[float]) -> None:
    """A passing failure is tried again, after pauses that grow."""
    with ChatServer([status(code), status(code), text("fine")]) as server:
        model = ChatCompletions("any", server.base_url)
        assert ask(model)[-1].text == "fine"
        model.close()
    first, second = pauses
    assert 0 < first < second < 2


def test_retries_are_bounded(pauses: list[float]) -> None:
    """After the last retry the error comes through; a lasting failure is not tried again."""
    with ChatServer([*[status(503)] * 3, status(400)]) as server:
        model = ChatCompletions("any", server.base_url, retries=2)
        with pytest.raises(ModelHttpError, match="503"):
            ask(model)
        assert len(server.requests) == 3
        with pytest.raises(ModelHttpError, match="400"):
            ask(model)
        assert len(server.requests) == 4
        model.close()


def test_retry_after(pauses: list[float]) -> None:
    """The server's Retry-After is kept, as seconds and as a date."""
    date = formatdate(time.time() + 20, usegmt=True)
    with ChatServer([*(status(429, headers={"Retry-After": wait}) for wait in ("2", date)), text("fine")]) as server:
        model = ChatCompletions("any", server.base_url)
        assert ask(model)[-1].text == "fine"
        model.close()
    assert pauses[0] == 2
    assert 15 < pauses[1] <= 20


def test_retry_after_beyond_the_bound(pauses: list[float]) -> None:
    """A wait of an hour is the caller's decision: the error names it, and nothing is waited for."""
    with ChatServer([status(429, headers={"Retry-After": "3600"}), text("never")]) as server:
        model = ChatCompletions("any", server.base_url)
        with pytest.raises(ModelHttpError, match="3600 s") as caught:
            ask(model)
        model.close()
    assert caught.value.retry_after == 3600
    assert pauses == []


def test_a_refused_connection_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is just starting is found by the next attempt."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    servers: list[ChatServer] = []
    monkeypatch.setattr(CancelScope, "sleep", lambda *_: servers.append(ChatServer([text("fine")], port=port)))
    model = ChatCompletions("any", f"http://127.0.0.1:{port}/v1")
    assert ask(model)[-1].text == "fine"
    model.close()
    servers[0].close()


def test_no_retry_once_something_was_emitted(pauses: list[float]) -> None:
    """What the consumer has seen is never said twice; without partials nothing was seen yet."""
    broken: list[Item] = ["Hel", data({"error": {"code": 503, "message": "boom"}})]
    with ChatServer([broken, broken, text("fine")]) as server:
        model = ChatCompletions("any", server.base_url)
        with pytest.raises(ModelAnswerError):
            ask(model, stream=True)
        assert len(server.requests) == 1
        assert [response.text for response in ask(model)] == ["fine"]
        assert len(server.requests) == 3
        model.close()


# -- configuration -----------------------------------------------------------------------------------------------------


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Server and key come from the environment when they are not given, rxagent's own names first."""
    with pytest.raises(ConfigError, match="RXAGENT_BASE_URL"):
        ChatCompletions("any")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:2/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "other")
    with ChatServer([text("fine")]) as server:
        monkeypatch.setenv("RXAGENT_BASE_URL", server.base_url)
        monkeypatch.setenv("RXAGENT_API_KEY", SECRET)
        model = ChatCompletions("any")
        ask(model)
        assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"
        model.close()


@pytest.mark.parametrize(
    ("base_url", "path"),
    [
        ("{}", "/chat/completions"),
        ("{}/v1", "/v1/chat/completions"),
        ("{}/v1/", "/v1/chat/completions"),
        ("{}/v1/chat/completions", "/v1/chat/completions"),
        ("{}/openai?api-version=1", "/openai/chat/completions?api-version=1"),
    ],
)
def test_base_url(base_url: str, path: str) -> None:
    """The path is appended where it is missing, ahead of a query."""
    with ChatServer([text("fine")]) as server:
        model = ChatCompletions("any", base_url.format(f"http://127.0.0.1:{server.port}"))
        ask(model)
        assert server.requests[0].path == path
        model.close()


@pytest.mark.parametrize("base_url", ["127.0.0.1:8000/v1", "ftp://x/v1", "http://", "http://x:port/v1", "http://[x/v1"])
def test_what_is_no_base_url(base_url: str) -> None:
    """What is no HTTP address is refused at once."""
    with pytest.raises(ConfigError, match="no HTTP address"):
        ChatCompletions("any", base_url)


@pytest.mark.parametrize("key", ["sk\nsecret", "sk-\u20ac-secret", "sk-\u00e9-secret"])
def test_what_is_no_key(key: str) -> None:
    """A key that no header can hold is refused at once, without being shown."""
    with pytest.raises(ConfigError, match="copied whole") as caught:
        ChatCompletions("any", "http://x/v1", key)
    assert "secret" not in str(caught.value)


def test_secrets_are_not_shown() -> None:
    """Neither key nor password nor a user's own headers stand in a repr or a message."""
    with ChatServer([status(400, {"error": {"message": f"{SECRET} hunter22 own-secret"}})]) as server:
        url = f"http://me:hunter22@127.0.0.1:{server.port}/v1"
        model = ChatCompletions("any", url, SECRET, headers={"X-Key": "own-secret"}, retries=0)
        assert repr(model) == f"<ChatCompletions 'any' at http://127.0.0.1:{server.port}/v1>"
        with pytest.raises(ModelHttpError, match=r"\*\*\* \*\*\* \*\*\*") as caught:
            ask(model)
        assert server.requests[0].headers["x-key"] == "own-secret"
        model.close()
    assert SECRET not in f"{caught.value!r} {vars(caught.value)}"


def test_environment_proxies_are_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment is not asked for this machine's own addresses, but for others."""
    with ChatServer([text("direct")]) as server, ChatServer([text("by proxy")]) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        model = ChatCompletions("any", server.base_url)
        other = ChatCompletions("any", "http://model.test/v1")
        assert [ask(asked)[-1].text for asked in (model, other)] == ["direct", "by proxy"]
        model.close()
        other.close()
    with pytest.raises(ConfigError, match="SOCKS"):
        ChatCompletions("any", "http://x/v1", proxies={"http": "socks5://x:1"})


def test_netrc_is_not_read(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A netrc entry for the host does not replace the key."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password other\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with ChatServer([text("fine")]) as server:
        model = ChatCompletions("any", server.base_url, SECRET)
        ask(model)
        assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"
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
