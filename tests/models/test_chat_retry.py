"""What is tried again, when, and how often."""

from __future__ import annotations

import socket
import time
from email.utils import formatdate

import pytest

from rxagent.errors import (
    ModelAnswerError,
    ModelHttpError,
)
from rxagent.models import ChatCompletions
from rxagent.streams import CancelScope
from rxagent.testing.chat_server import (
    ChatServer,
    Item,
    data,
    status,
    text,
)

from .calling import ask


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
