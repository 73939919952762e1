"""Servers to test: real uvicorn in a thread or in a process of its own, and a client on a real socket."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from starlette.routing import BaseRoute

from rxagent import LlmAgent, Runner
from rxagent.serve import ServeSettings, create_app
from rxagent.serve.app import desk_of
from rxagent.serve.desk import Desk
from rxagent.serve.server import Server

__all__ = ["Answer", "Client", "Frame", "Stream", "child", "eventually", "order", "served"]

ROOT = Path(__file__).parents[2]
PATIENCE = 10.0  # seconds until a test that waits in vain fails


class Answer(NamedTuple):
    """What a request got."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Frame(NamedTuple):
    """A frame of an event stream; comment: its text when it is one."""

    id: str | None = None
    event: str | None = None
    data: Any = None
    comment: str | None = None

    @property
    def text(self) -> str:
        parts = (self.data.get("content") or {}).get("parts", ())
        return "".join(part.get("text", "") for part in parts)


def order(text: str = "Hi", session: str = "s1", user: str = "me", **more: Any) -> dict[str, Any]:
    """A run request."""
    message = {"role": "user", "parts": [{"text": text}]}
    return {"appName": "app", "userId": user, "sessionId": session, "newMessage": message, **more}


class Stream:
    """A response that is read as it comes, on a connection of its own."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._socket: socket.socket | None = connection.sock
        self.response = response
        self.status = response.status
        self.run_id = response.getheader("Rxagent-Run-Id", "")

    def __iter__(self) -> Iterator[Frame]:
        """The frames, comments too."""
        fields: dict[str, str] = {}
        for raw in self.response:
            line = raw.decode().rstrip("\n")
            if not line and fields:
                data = json.loads(fields["data"]) if "data" in fields else None
                yield Frame(fields.get("id"), fields.get("event"), data, fields.get(""))
                fields = {}
            elif line:
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")

    def events(self) -> Iterator[Frame]:
        """The frames that are events of the run."""
        return (frame for frame in self if frame.data is not None and frame.event is None)

    def drop(self) -> float:
        """Go, as a closed tab does; the moment, on the monotonic clock."""
        assert self._socket is not None
        self._socket.shutdown(socket.SHUT_RDWR)
        at = time.monotonic()
        self.close()
        return at

    def close(self) -> None:
        self.response.close()
        self._connection.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Client:
    """A client of one server; a connection for each request."""

    def __init__(self, host: str, port: int, pid: int | None = None) -> None:
        self.host, self.port, self.pid = host, port, pid

    def open(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, timeout: float = PATIENCE
    ) -> Stream:
        """Send a request and return when the headers have come."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        sent = {"Content-Type": "application/json", **(headers or {})}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data, sent)
        return Stream(connection, connection.getresponse())

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """A whole answer."""
        with self.open(method, path, body, headers) as stream:
            response = stream.response
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status == 200, answer
        return answer.json

    def create(self, session: str = "s1", user: str = "me", app: str = "app", **fields: Any) -> Any:
        answer = self.ask("POST", f"/apps/{app}/users/{user}/sessions", {"sessionId": session, **fields})
        assert answer.status == 200, answer
        return answer.json

    def session(self, session: str = "s1", user: str = "me", app: str = "app") -> Any:
        return self.get(f"/apps/{app}/users/{user}/sessions/{session}")

    def start(self, *words: Any, query: str = "", **fields: Any) -> Stream:
        """POST /run_sse"""
        return self.open("POST", f"/run_sse{query}", order(*words, **fields))

    def ended(self, run_id: str) -> Any:
        """The run, once it has ended."""
        return eventually(lambda: (run := self.get(f"/runs/{run_id}"))["state"] in ("ended", "lost") and run)


def eventually(look: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """What `look` finds, once it finds something."""
    deadline = time.monotonic() + patience
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not come"
        threading.Event().wait(0.005)
    return found


class Served(Client):
    """A server in a thread of this process."""

    def __init__(self, runner: Runner, server: Server, desk: Desk, port: int) -> None:
        super().__init__("127.0.0.1", port)
        self.runner, self.server, self.desk = runner, server, desk


@contextmanager
def served(
    agent: LlmAgent | Runner,
    settings: ServeSettings | None = None,
    more: Iterable[Callable[[Desk], Iterable[BaseRoute]]] = (),
) -> Iterator[Served]:
    """Serve an agent, as app `app` with sessions in memory, or a runner. more: as of `create_app`."""
    runner = agent if isinstance(agent, Runner) else Runner(agent, app_name="app", auto_create_session=False)
    app = create_app(runner, settings=settings, more=more)
    ports: list[int] = []
    listening = threading.Event()

    def listen(_: str, port: int) -> None:
        ports.append(port)
        listening.set()

    server = Server(app, port=0, on_listening=listen)
    thread = threading.Thread(target=server.run, name="test-server")
    with runner:
        thread.start()
        try:
            assert listening.wait(PATIENCE)
            yield Served(runner, server, desk_of(app), ports[0])
        finally:
            server.should_exit = True
            thread.join(2 * PATIENCE)
            assert not thread.is_alive()


@contextmanager
def child(module: Path, *options: str, agent: str = "agent") -> Iterator[Client]:
    """`rxagent serve MODULE:AGENT` in a process of its own; the file `module` holds the agent."""
    command = [sys.executable, "-m", "rxagent.cli", "serve", f"{module.stem}:{agent}", "--port", "0", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, cwd=module.parent, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"http://(\S+):(\d+)", line)
        assert found, line
        yield Client(found[1], int(found[2]), process.pid)
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        process.wait(2 * PATIENCE)
        process.stdout.close()
