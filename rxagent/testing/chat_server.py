"""ChatServer: a scripted chat-completions server on a real socket, for tests of what happens on the wire.

from rxagent.testing.chat_server import ChatServer, pause, stall, status, text

with ChatServer([text("Hello ", "world"), [call("get_weather", city="Oslo")], status(503)]) as server:
    model = ChatCompletions("any", base_url=server.base_url)
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TypeAlias, final

from .chat_connection import Connection, Received
from .chat_script import (
    Item,
    Step,
    Turn,
    TurnLike,
    close,
    data,
    done,
    finish,
    pause,
    reasoning,
    reset,
    stall,
    status,
    tell,
    text,
    usage,
    wait,
    wire,
)

__all__ = [
    "ChatServer",
    "Item",
    "Received",
    "Step",
    "Turn",
    "TurnLike",
    "close",
    "data",
    "done",
    "finish",
    "pause",
    "reasoning",
    "reset",
    "stall",
    "status",
    "tell",
    "text",
    "usage",
    "wait",
    "wire",
]

Script: TypeAlias = Iterable[TurnLike] | Callable[[Received], TurnLike]


@final
class ChatServer:
    """Answers each request with the next turn of its script, byte for byte as written there.

    script: the turns, in the order in which requests come; or a function from the request (call its `read` for the
    body) to its turn. A request beyond the script gets status 500 and a message that says so.
    tls: a server-side SSLContext. handshake: False never answers the TLS handshake. port: 0 takes a free one.

    A context manager; after `close` no thread and no socket is left. Everything is on 127.0.0.1.
    """

    def __init__(
        self, script: Script = (), *, tls: ssl.SSLContext | None = None, handshake: bool = True, port: int = 0
    ) -> None:
        self._script = script if callable(script) else None
        self._turns = iter(()) if callable(script) else iter(script)
        self._numbers = itertools.count(1)
        self._tls = tls
        self._handshake = handshake
        self._changed = threading.Condition()
        self._open: dict[Connection, threading.Thread] = {}
        self._closing = False
        self.requests: list[Received] = []
        """What was asked, in order."""
        self.connections = 0
        """How many connections were accepted."""
        self._listener = socket.create_server(("127.0.0.1", port), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, daemon=True, name="rxagent-chat-server")
        self._acceptor.start()

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        return f"{'http' if self._tls is None else 'https'}://127.0.0.1:{self.port}/v1"

    def wait_requests(self, count: int = 1, timeout: float = 5.0) -> list[Received]:
        """Wait until so many requests have come in all. Raises TimeoutError when they did not within `timeout`."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= count, timeout):
                raise TimeoutError(f"{len(self.requests)} requests within {timeout} s, not {count}")
            return list(self.requests)

    def close(self) -> None:
        """End all connections and wait until every thread is gone."""
        with self._changed:
            self._closing = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):  # where a shutdown does not wake accept, a visitor does
            socket.create_connection(("127.0.0.1", self.port), timeout=0.2).close()
        self._acceptor.join()
        self._listener.close()
        while True:
            with self._changed:
                left = list(self._open.items())
            if not left:
                return
            for connection, thread in left:
                connection.cut()
                thread.join(0.05)

    def __enter__(self) -> ChatServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ChatServer {self.base_url}: {len(self.requests)} requests>"

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with self._changed:
                if self._closing:
                    sock.close()
                    return
                self.connections += 1
                connection = Connection(sock, self._tls, self._choose)
                name = f"rxagent-chat-server-{self.connections}"
                thread = threading.Thread(target=self._serve, args=(connection,), daemon=True, name=name)
                self._open[connection] = thread
                thread.start()

    def _serve(self, connection: Connection) -> None:
        try:
            if self._tls is not None and not self._handshake:
                connection.serve_nothing(self._record(Received("", "", {})))
            else:
                connection.serve()
        finally:
            with self._changed:
                del self._open[connection]

    def _choose(self, received: Received) -> tuple[Turn, int]:
        with self._changed:
            number = next(self._numbers)
            turn = next(self._turns, None) if self._script is None else self._script(received)
        self._record(received)
        if turn is None:
            turn = status(500, {"error": {"message": f"the script has no turn {number}"}})
        if isinstance(turn, str):
            turn = [turn]
        return (turn if isinstance(turn, Turn) else Turn(turn)), number

    def _record(self, received: Received) -> Received:
        with self._changed:
            self.requests.append(received)
            self._changed.notify_all()
        return received
