"""One connection of the scripted chat-completions server: reads requests, plays turns, sees the client go."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO, Final, final

from rxagent.models.tls_remains import close_half_made

from .chat_script import Step, Turn

__all__ = ["Connection", "Received"]

_GONE: Final = getattr(select, "POLLRDHUP", select.POLLHUP)
_TLS_RECORD: Final = b"\x16"  # what a client that wants TLS begins with
_GATE_SECONDS: Final = 0.002  # between two looks at a gate and at the client


@final
class Received:
    """A request as the server saw it. Times are `time.monotonic()`.

    headers: names in lower case. body: what was read of it; a script that chooses by it calls `read` first.
    gone_at: when the server saw the client's connection go, None while it stands.
    A connection that stays without TLS handshake counts as one without method and path.
    """

    __slots__ = ("_gone", "_stream", "at", "body", "gone_at", "headers", "method", "path")

    def __init__(self, method: str, path: str, headers: dict[str, str], stream: BinaryIO | None = None) -> None:
        self._stream = stream
        self.method = method
        self.path = path
        self.headers = headers
        self.body = b""
        self.at = time.monotonic()
        self.gone_at: float | None = None
        self._gone = threading.Event()

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)

    def read(self) -> Received:
        """Read the body, if it was not read yet. Only for the server, and for a script while it chooses."""
        if self._stream is not None:
            self.body = self._stream.read(int(self.headers.get("content-length", "0")))
            self._stream = None
        return self

    def wait_gone(self, timeout: float = 5.0) -> float | None:
        """Wait until the server has seen the connection go: the time of that, None when it did not within `timeout`."""
        self._gone.wait(timeout)
        return self.gone_at

    def mark_gone(self) -> None:
        """Note that the connection went; the first time counts."""
        if self.gone_at is None:
            self.gone_at = time.monotonic()
            self._gone.set()

    def __repr__(self) -> str:
        return f"<Received {self.method} {self.path}, {len(self.body)} bytes>"


class _Over(Exception):
    """The connection ends here."""


@final
class Connection:
    """Serves one client until either side goes. `choose(received)` gives the turn and its number."""

    __slots__ = ("_choose", "_received", "_sock", "_tls")

    def __init__(
        self,
        sock: socket.socket,
        tls: ssl.SSLContext | None,
        choose: Callable[[Received], tuple[Turn, int]],
    ) -> None:
        self._sock = sock
        self._tls = tls
        self._choose = choose
        self._received: Received | None = None

    def serve(self) -> None:
        """Serve until the end; raises nothing."""
        try:
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                # the handshake in a step of its own: `cut` must always find the socket that has the descriptor
                self._sock = _wrapped(self._tls, self._sock)
                self._sock.do_handshake()
            stream = self._sock.makefile("rb")
            with stream:
                while self._exchange(stream):
                    pass
        except (_Over, OSError, ValueError):
            pass
        finally:
            self._sock.close()

    def serve_nothing(self, received: Received) -> None:
        """Leave the TLS handshake without an answer until the client goes."""
        self._received = received
        with contextlib.suppress(_Over, OSError):
            self._watch(None)
        self._sock.close()

    def cut(self) -> None:
        """End it from another thread. (Not SSLSocket.shutdown: that takes the TLS layer away under the reader.)"""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def _exchange(self, stream: BinaryIO) -> bool:
        first = stream.read(1)
        if first == _TLS_RECORD:
            self._send(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")  # as web servers do
            return False
        line = (first + stream.readline()).decode("latin-1").split()
        if len(line) < 2:
            self._gone()
            return False
        headers: dict[str, str] = {}
        while header := stream.readline().strip():
            name, _, value = header.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        received = self._received = Received(line[0], line[1], headers, stream)
        turn, number = self._choose(received)
        if turn.read_body:
            received.read()
        for step in turn.steps(number):
            self._play(step)
        return turn.read_body

    def _play(self, step: Step) -> None:
        if step.kind == "wire":
            self._send(step.bytes)
        elif step.kind == "body":
            raise ValueError("a body step that was not framed")
        elif step.kind == "pause":
            self._watch(step.seconds)
        elif step.kind == "stall":
            self._watch(None)
        elif step.kind == "wait" and step.event is not None:
            while not step.event.wait(_GATE_SECONDS):
                self._watch(0)
        elif step.kind == "tell" and step.event is not None:
            step.event.set()
        elif step.kind == "reset":
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise _Over
        elif step.kind == "close":
            raise _Over

    def _send(self, content: bytes) -> None:
        self._watch(0)
        try:
            self._sock.sendall(content)
        except OSError:
            self._gone()
            raise

    def _watch(self, seconds: float | None) -> None:
        """Wait that long, None for ever; the client's going ends the connection."""
        poll = select.poll()
        poll.register(self._sock.fileno(), _GONE)
        if poll.poll(None if seconds is None else seconds * 1000):
            self._gone()
            raise _Over

    def _gone(self) -> None:
        if self._received is not None:
            self._received.mark_gone()


def _wrapped(tls: ssl.SSLContext, sock: socket.socket) -> ssl.SSLSocket:
    try:
        return tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
    except OSError as error:
        close_half_made(error)
        raise
