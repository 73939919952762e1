"""ChatCompletions against a real socket: errors that say what happened and what to do."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import threading
from typing import Any

import pytest

from rxagent.errors import (
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
from rxagent.models import ChatCompletions
from rxagent.testing.chat_server import (
    ChatServer,
    Turn,
    close,
    data,
    reset,
    status,
    text,
)

from .calling import ask, server_tls

SECRET = "sk-very-secret-0123456789"


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
