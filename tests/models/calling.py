"""Calls on a thread of their own, certificates, and a proxy: what the tests of the wire share."""

from __future__ import annotations

import contextlib
import functools
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import trustme

from rxagent.events import Content
from rxagent.models import BaseLlm, LlmRequest, LlmResponse
from rxagent.streams import CancelScope, Stopped, pull

__all__ = ["CallOnThread", "ConnectProxy", "ask", "authority_file", "question", "server_tls"]


def question(text: str = "Hi") -> LlmRequest:
    """A request with one user message."""
    return LlmRequest([Content.user(text)])


def ask(model: BaseLlm, request: LlmRequest | None = None, *, stream: bool = False) -> list[LlmResponse]:
    """All responses of one call."""
    return list(pull(model.generate_content(request or question(), stream), CancelScope()))


class CallOnThread:
    """One streamed call on a thread; `outcome` is "done", or what it left by."""

    def __init__(self, model: BaseLlm, request: LlmRequest | None = None) -> None:
        self.scope = CancelScope()
        self.first = threading.Event()
        self.responses: list[LlmResponse] = []
        self.outcome: str | BaseException | None = None
        self.left_at: float | None = None
        self._source = model.generate_content(request or question(), True)
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def cancel(self, within: float = 5.0) -> None:
        """Cancel the scope and wait until the call has left."""
        self.scope.cancel()
        self.join(within)

    def join(self, within: float = 5.0) -> None:
        self._thread.join(within)
        assert not self._thread.is_alive(), "the call hangs"

    @property
    def was_stopped(self) -> bool:
        """True when it left by Stopped of its own scope."""
        return isinstance(self.outcome, Stopped) and self.outcome.scope is self.scope

    def _work(self) -> None:
        try:
            for response in pull(self._source, self.scope):
                self.responses.append(response)
                self.first.set()
            self.outcome = "done"
        except BaseException as error:
            self.left_at = time.monotonic()
            self.outcome = error


@functools.cache
def _authority() -> trustme.CA:
    return trustme.CA()


@functools.cache
def server_tls() -> ssl.SSLContext:
    """What a server on 127.0.0.1 needs."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _authority().issue_cert("127.0.0.1", "localhost", "slow.test").configure_cert(context)
    return context


@functools.cache
def authority_file() -> str:
    """What a client trusts: the value of `verify`."""
    path = Path(tempfile.mkdtemp(prefix="rxagent-test-")) / "authority.pem"
    _authority().cert_pem.write_to_path(str(path))
    return str(path)


class ConnectProxy:
    """An HTTP proxy for CONNECT. hang: it reads the request and never answers. seen: such requests, by Event."""

    def __init__(self, *, hang: bool = False) -> None:
        self._hang = hang
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.seen = threading.Event()
        self.gone = threading.Event()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._spawn(self._accept)

    def __enter__(self) -> ConnectProxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for sock in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        for sock in (self._listener, *self._sockets):
            sock.close()

    def _spawn(self, work: Callable[..., None], *args: socket.socket) -> None:
        thread = threading.Thread(target=work, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                self._spawn(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(4096)
            self.seen.set()
            if not self._hang:
                host, _, port = head.split()[1].decode().partition(":")
                upstream = socket.create_connection((host, int(port)))
                self._sockets.append(upstream)
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                self._spawn(self._pump, upstream, client)
                self._pump(client, upstream)
            while client.recv(4096):
                pass
        self.gone.set()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                target.sendall(piece)
        for sock in (source, target):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
