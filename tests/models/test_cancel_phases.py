"""A dispose stops a model call in every phase: one self-test for each, plain and TLS.

They also watch over the private names of urllib3 and http.client that the transport needs.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rxagent.models import ChatCompletions, LlmRequest
from rxagent.streams import CancelScope, Stopped, pull
from rxagent.testing.chat_server import ChatServer, Turn, TurnLike, stall, status, tell, text, wire

from .calling import CallOnThread, ConnectProxy, ask, authority_file, question, server_tls

pytestmark = pytest.mark.promise("J5")

_BOTH = pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
_POOLED = pytest.mark.parametrize("pooled", [False, True], ids=["fresh", "pooled"])


@contextlib.contextmanager
def serving(script: list[TurnLike], tls: bool, **options: Any) -> Iterator[tuple[ChatServer, ChatCompletions]]:
    """A server with this script, and a model that asks it."""
    with ChatServer(script, tls=server_tls() if tls else None) as server:
        model = ChatCompletions("any", server.base_url, verify=authority_file(), **options)
        try:
            yield server, model
        finally:
            model.close()


def stopped_in(turn: Turn, tls: bool, pooled: bool, reached: threading.Event, request: LlmRequest) -> None:
    """Cancel a call when `reached`: it stops, the server sees it, and the pool is good for the next call."""
    script: list[TurnLike] = [text("warm")] if pooled else []
    with serving([*script, turn, text("fine")], tls) as (server, model):
        if pooled:
            ask(model)
        call = CallOnThread(model, request)
        assert reached.wait(5)
        call.cancel()
        assert call.was_stopped, call.outcome
        assert server.requests[-1].wait_gone(5) is not None
        assert ask(model)[-1].text == "fine"
        assert len(server.requests) == len(script) + 2, "a stopped call was tried again"


@_BOTH
@_POOLED
def test_waiting_for_headers(tls: bool, pooled: bool) -> None:
    """A call that waits for the answer's headers stops at once."""
    reached = threading.Event()
    stopped_in(Turn([tell(reached), stall()], framing="none"), tls, pooled, reached, question())


@_BOTH
@_POOLED
def test_half_of_the_headers(tls: bool, pooled: bool) -> None:
    """A call that has half of the headers stops at once."""
    reached = threading.Event()
    half = wire(b"HTTP/1.1 200 OK\r\nContent-Ty")
    stopped_in(Turn([half, tell(reached), stall()], framing="none"), tls, pooled, reached, question())


@_BOTH
@_POOLED
def test_sending_a_body_that_nobody_reads(tls: bool, pooled: bool) -> None:
    """A call whose request fills every buffer on the way stops at once, and the server sees that too."""
    reached = threading.Event()
    turn = Turn([tell(reached), stall()], framing="none", read_body=False)
    stopped_in(turn, tls, pooled, reached, question("x" * 20_000_000))


@_BOTH
@_POOLED
@pytest.mark.parametrize("gzip", [False, True], ids=["as-is", "gzip"])
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_between_two_pieces(framing: Any, gzip: bool, tls: bool, pooled: bool) -> None:
    """A call that waits for the next piece of its answer stops at once, however the body's end is told."""
    script: list[TurnLike] = [text("warm")] if pooled else []
    turn = Turn(["Hello", stall()], framing=framing, gzip=gzip)
    with serving([*script, turn, text("fine")], tls) as (server, model):
        if pooled:
            ask(model)
        call = CallOnThread(model)
        assert call.first.wait(5)
        call.cancel()
        assert call.was_stopped, call.outcome
        assert [response.text for response in call.responses] == ["Hello"]
        assert server.requests[-1].wait_gone(5) is not None
        assert ask(model)[-1].text == "fine"


def test_looking_up_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that waits for the resolver stops at once and abandons the look-up."""
    reached, go_on = threading.Event(), threading.Event()
    real = socket.getaddrinfo

    def slow(host: str, *args: Any, **options: Any) -> Any:
        if host != "slow.test" or socket.AI_NUMERICHOST in args:
            return real(host, *args, **options)
        reached.set()
        go_on.wait(10)
        return real("127.0.0.1", *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    with ChatServer([text("fine")]) as server:
        model = ChatCompletions("any", f"http://slow.test:{server.port}/v1")
        call = CallOnThread(model)
        assert reached.wait(5)
        call.cancel()
        assert call.was_stopped, call.outcome
        assert server.connections == 0
        go_on.set()
        assert ask(model)[-1].text == "fine"
        model.close()


def test_connecting() -> None:
    """A call whose connect gets no answer stops at once."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        for _ in range(6):  # a full backlog: the kernel lets further connects wait
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        waiting = _syn_sent(port)
        model = ChatCompletions("any", f"http://127.0.0.1:{port}/v1")
        call = CallOnThread(model)
        while _syn_sent(port) <= waiting:
            assert not call.first.wait(0.001)
        call.cancel()
        assert call.was_stopped, call.outcome


def test_tls_handshake() -> None:
    """A call whose TLS handshake gets no answer stops at once, and the server sees it go."""
    with ChatServer(tls=server_tls(), handshake=False) as server:
        model = ChatCompletions("any", server.base_url, verify=authority_file())
        call = CallOnThread(model)
        [received] = server.wait_requests()
        call.cancel()
        assert call.was_stopped, call.outcome
        assert received.wait_gone(5) is not None


def test_retry_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that waits to try again stops at once, and asks no more."""
    reached = threading.Event()
    sleep = CancelScope.sleep

    def watched(scope: CancelScope, seconds: float) -> None:
        reached.set()
        sleep(scope, seconds)

    monkeypatch.setattr(CancelScope, "sleep", watched)
    with serving([status(503, headers={"Retry-After": "30"}), text("fine")], False) as (server, model):
        call = CallOnThread(model)
        assert reached.wait(5)
        call.cancel()
        assert call.was_stopped, call.outcome
        assert len(server.requests) == 1


def test_connect_proxy_that_does_not_answer() -> None:
    """A call that waits for a proxy's CONNECT stops at once, and the proxy sees it go."""
    with ConnectProxy(hang=True) as proxy:
        model = ChatCompletions("any", "https://127.0.0.1:9/v1", proxies={"https": proxy.url})
        call = CallOnThread(model)
        assert proxy.seen.wait(5)
        call.cancel()
        assert call.was_stopped, call.outcome
        assert proxy.gone.wait(5)


def test_streaming_through_a_connect_proxy() -> None:
    """A call that streams through a CONNECT proxy stops at once, and server and proxy see it go."""
    with (
        ConnectProxy() as proxy,
        serving([["Hello", stall()], text("fine")], True, proxies={"https": proxy.url}) as (server, model),
    ):
        call = CallOnThread(model)
        assert call.first.wait(5)
        call.cancel()
        assert call.was_stopped, call.outcome
        assert server.requests[0].wait_gone(5) is not None
        assert ask(model)[-1].text == "fine"
        assert proxy.seen.is_set()


def test_forwarding_proxy() -> None:
    """A call over a forwarding proxy that waits for headers stops at once."""
    reached = threading.Event()
    with ChatServer([Turn([tell(reached), stall()], framing="none"), text("fine")]) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        model = ChatCompletions("any", "http://model.test/v1", proxies={"http": url})
        call = CallOnThread(model)
        assert reached.wait(5)
        call.cancel()
        assert call.was_stopped, call.outcome
        assert proxy.requests[0].path == "http://model.test/v1/chat/completions"
        assert proxy.requests[0].wait_gone(5) is not None
        assert ask(model)[-1].text == "fine"
        model.close()


def test_before_it_begins() -> None:
    """A call whose scope is cancelled already opens no connection."""
    with serving([text("never")], False) as (server, model):
        scope = CancelScope()
        scope.cancel()
        with pytest.raises(Stopped):
            next(pull(model.generate_content(question()), scope))
        assert server.connections == 0


def test_dispose_of_a_subscription() -> None:
    """Disposing a subscription cuts the call and silences it."""
    with serving([["Hello", stall()]], False) as (server, model):
        first = threading.Event()
        after: list[object] = []
        handle = model.generate_content(question(), True).subscribe(
            lambda _: first.set(), after.append, lambda: after.append("completed")
        )
        assert first.wait(5)
        handle.dispose()
        assert server.requests[0].wait_gone(5) is not None
        assert after == []


def _syn_sent(port: int) -> int:
    """How many connects to this port wait for their answer."""
    rows = Path("/proc/self/net/tcp").read_text().splitlines()[1:]
    return sum(1 for row in rows if row.split()[2].endswith(f":{port:04X}") and row.split()[3] == "02")
