"""A14: who disconnects stops the run, at once and also in silence; who asks to stop reads the end."""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from rxagent import LlmAgent
from rxagent.streams import CancelScope
from rxagent.testing import ScriptedModel, call
from tests.serve.served import Served, order, served

AT_ONCE = 0.05  # seconds that the promise names


class Silence:
    """A model, or a tool, that says nothing until it is stopped; it notes when it began and when it was stopped."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)
        self.stopped: list[float] = []

    def model(self, scope: CancelScope) -> None:
        with self:
            scope.sleep(60)

    async def tool(self) -> str:
        """Wait."""
        with self:
            await asyncio.sleep(60)
        return "never"

    def __enter__(self) -> None:
        self.begun.release()

    def __exit__(self, *_: object) -> None:
        self.stopped.append(time.monotonic())
        self.ended.release()


def in_model(silence: Silence) -> LlmAgent:
    return LlmAgent(name="support", model=ScriptedModel(["Half", silence.model], repeat_last=True))


def in_tool(silence: Silence) -> LlmAgent:
    return LlmAgent(name="support", model=ScriptedModel([call("tool")], repeat_last=True), tools=[silence.tool])


@pytest.mark.promise("A14", "disconnect")
@pytest.mark.parametrize("path", ["/run_sse", "/run"])
@pytest.mark.parametrize("agent_of", [in_model, in_tool])
def test_a_disconnect_stops_a_silent_run(agent_of: Callable[[Silence], LlmAgent], path: str) -> None:
    """Model call or tool are stopped within 50 ms, the run ends as client_disconnect, and its log is sealed."""
    silence = Silence()
    delays = []
    with served(agent_of(silence)) as server:
        for number in range(11):
            server.create(f"s{number}")
            gone = _leave(server, path, f"s{number}", silence)
            assert silence.ended.acquire(timeout=5)
            delays.append(silence.stopped[-1] - gone)
            [run] = server.get(f"/runs?session=s{number}")
            outcome = server.ended(run["runId"])["outcome"]
            assert (outcome["kind"], outcome["reason"]) == ("aborted", "client_disconnect")
            assert server.session(f"s{number}")["events"][-1]["errorCode"] == "INVOCATION_ABORTED"
    assert statistics.median(delays) < AT_ONCE


def _leave(server: Served, path: str, session: str, silence: Silence) -> float:
    """Ask, wait until the agent is silent, and go; when that was."""
    import http.client
    import json
    import socket

    connection = http.client.HTTPConnection(server.host, server.port, timeout=10)
    connection.request("POST", path, json.dumps(order("Hi", session, streaming=True)).encode())
    assert silence.begun.acquire(timeout=5)
    assert connection.sock is not None
    connection.sock.shutdown(socket.SHUT_RDWR)
    gone = time.monotonic()
    connection.close()
    return gone


@pytest.mark.promise("A14", "stop")
@pytest.mark.parametrize("agent_of", [in_model, in_tool])
def test_a_stop_lets_the_client_read_the_end(agent_of: Callable[[Silence], LlmAgent]) -> None:
    """The stop route ends the run with user_stop; the stream goes on to the seal and the outcome."""
    silence = Silence()
    with served(agent_of(silence)) as server:
        server.create()
        with server.start(streaming=True) as stream:
            assert silence.begun.acquire(timeout=5)
            answer: Any = server.ask("POST", f"/runs/{stream.run_id}/abort").json
            *_, seal, last = list(stream)
    assert answer["outcome"]["reason"] == "user_stop"
    assert seal.data["errorCode"] == "INVOCATION_ABORTED"
    assert last.data["customMetadata"]["outcome"] == answer["outcome"]
