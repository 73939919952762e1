"""Time limits: each phase has its own, each its own error, and the total covers them all."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from rxagent.errors import (
    ConfigError,
    ModelConnectTimeoutError,
    ModelFirstByteTimeoutError,
    ModelIdleTimeoutError,
    ModelTimeoutError,
    ModelTotalTimeoutError,
)
from rxagent.models import ChatCompletions, Timeouts
from rxagent.streams import CancelScope, pull
from rxagent.testing.chat_server import (
    ChatServer,
    Step,
    Turn,
    TurnLike,
    done,
    finish,
    pause,
    stall,
    status,
    text,
    usage,
    wire,
)

from .calling import ConnectProxy, ask, authority_file, question, server_tls

SHORT = 0.05


@contextlib.contextmanager
def asking(script: list[TurnLike], timeouts: Timeouts) -> Iterator[tuple[ChatServer, ChatCompletions]]:
    with ChatServer(script) as server:
        model = ChatCompletions("any", server.base_url, timeouts=timeouts, retries=0)
        try:
            yield server, model
        finally:
            model.close()


def fails(model: ChatCompletions, kind: type[ModelTimeoutError], limit: str, text: str = "Hi") -> None:
    """The call fails by this limit, in about its time, and its message names it."""
    began = time.monotonic()
    with pytest.raises(kind, match=rf"Timeouts\({limit}=") as caught:
        ask(model, question(text))
    assert caught.value.seconds == SHORT
    assert time.monotonic() - began < 5


def test_connect_to_a_full_backlog() -> None:
    """A connect without answer fails by the connect limit."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(6):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        model = ChatCompletions("any", url, timeouts=Timeouts(connect=SHORT), retries=0)
        fails(model, ModelConnectTimeoutError, "connect")


def test_tls_handshake_without_answer() -> None:
    """A TLS handshake without answer fails by the connect limit."""
    with ChatServer(tls=server_tls(), handshake=False) as server:
        limits = Timeouts(connect=SHORT)
        model = ChatCompletions("any", server.base_url, verify=authority_file(), timeouts=limits, retries=0)
        fails(model, ModelConnectTimeoutError, "connect")


def test_proxy_without_answer() -> None:
    """A proxy that does not answer CONNECT fails by the connect limit."""
    with ConnectProxy(hang=True) as proxy:
        limits = Timeouts(connect=SHORT)
        model = ChatCompletions(
            "any", "https://127.0.0.1:9/v1", proxies={"https": proxy.url}, timeouts=limits, retries=0
        )
        fails(model, ModelConnectTimeoutError, "connect")


def test_resolver_without_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is not resolved in time fails by the connect limit."""
    go_on = threading.Event()

    def slow(host: str, *args: object, **options: object) -> list[object]:
        if socket.AI_NUMERICHOST in args:
            raise socket.gaierror
        go_on.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    model = ChatCompletions("any", "http://slow.test/v1", timeouts=Timeouts(connect=SHORT), retries=0)
    fails(model, ModelConnectTimeoutError, "connect")
    go_on.set()


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param(Turn([stall()], framing="none"), id="no headers"),
        pytest.param(Turn([stall()]), id="headers, no body"),
        pytest.param(
            Turn([step for _ in range(200) for step in (wire(b"H"), pause(SHORT / 5))], framing="none"), id="dripping"
        ),
    ],
)
def test_first_byte(turn: Turn) -> None:
    """No byte of the body in time fails by the first-byte limit; headers that drip in do not help."""
    with asking([turn], Timeouts(first_byte=SHORT)) as (_, model):
        fails(model, ModelFirstByteTimeoutError, "first_byte")


def test_a_request_that_nobody_reads() -> None:
    """A request that cannot be sent fails by the first-byte limit."""
    with asking([Turn([stall()], framing="none", read_body=False)], Timeouts(first_byte=SHORT)) as (_, model):
        fails(model, ModelFirstByteTimeoutError, "first_byte", "x" * 20_000_000)


def test_idle() -> None:
    """Silence in mid-answer fails by the idle limit."""
    with asking([["Hello", stall()]], Timeouts(idle=SHORT)) as (_, model):
        fails(model, ModelIdleTimeoutError, "idle")


@pytest.mark.parametrize("gzip", [False, True])
def test_comments_are_life(gzip: bool) -> None:
    """Comments keep an answer alive for longer than the idle limit."""
    keep_alive: list[Step | bytes] = [item for _ in range(12) for item in (b": alive\n\n", pause(0.1))]
    turn = Turn(["Hel", *keep_alive, "lo", *_ending()], gzip=gzip)
    with asking([turn], Timeouts(idle=1.0)) as (_, model):
        assert ask(model)[-1].text == "Hello"


def test_a_slow_consumer_is_not_the_servers_silence() -> None:
    """The idle limit does not count the time that the consumer takes between two responses."""
    with asking([["Hel", "lo"]], Timeouts(idle=SHORT)) as (_, model):
        responses = pull(model.generate_content(question(), True), CancelScope())
        next(responses)
        threading.Event().wait(2 * SHORT)
        assert [response.text for response in responses][-1] == "Hello"


def test_total() -> None:
    """An answer that never pauses long but never ends fails by the total limit."""
    endless = [item for _ in range(1000) for item in ("x", pause(SHORT / 10))]
    with asking([endless], Timeouts(total=SHORT)) as (_, model):
        fails(model, ModelTotalTimeoutError, "total")


def test_total_covers_retries() -> None:
    """A pause before a retry that would pass the total limit is not begun."""
    with asking([status(503, headers={"Retry-After": "30"})], Timeouts(total=5)) as (server, _):
        model = ChatCompletions("any", server.base_url, timeouts=Timeouts(total=5), retries=3)
        with pytest.raises(ModelTotalTimeoutError):
            ask(model)
        model.close()


def test_after_the_finish_silence_is_no_error() -> None:
    """A server that says nothing more after its finish reason has answered."""
    finished = [item for item in _ending() if b"[DONE]" not in item.bytes]
    with asking([["Hello", *finished, stall()]], Timeouts(idle=SHORT)) as (_, model):
        assert ask(model)[-1].text == "Hello"


def test_numbers() -> None:
    """A limit is a positive number of seconds, or None."""
    with pytest.raises(ConfigError, match="idle"):
        Timeouts(idle=0)
    assert Timeouts(idle=None).idle is None


def test_no_limits() -> None:
    """Without any limit a call simply works."""
    with asking([text("fine")], Timeouts(None, None, None, None)) as (_, model):
        assert ask(model)[-1].text == "fine"


def _ending() -> list[Step]:
    return [finish(), usage(1, 1), done()]
