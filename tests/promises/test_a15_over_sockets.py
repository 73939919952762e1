"""A15: stops over real sockets leave a log that the next message can build on, and nothing is done twice."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from rxagent import LlmAgent
from rxagent.invocation import ToolContext
from rxagent.testing import ScriptedModel, call
from tests.serve.served import Served, served


class Work:
    """An asynchronous tool of several seconds, and a plain one that works chunk by chunk; both count their calls."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.calls: list[str] = []
        self.chunks = 0

    async def fetch(self) -> str:
        """Fetch."""
        self._begin("fetch")
        await asyncio.sleep(30)
        return "fetched"

    def export(self, tool_context: ToolContext) -> str:
        """Export."""
        self._begin("export")
        tick = threading.Event()
        while not tool_context.is_aborted:
            self.chunks += 1
            tick.wait(0.005)
        return "stopped between two chunks"

    def _begin(self, name: str) -> None:
        self.calls.append(name)
        self.begun.release()

    def served(self, name: str) -> Any:
        """A server whose model calls the tool, would call it again, and answers the next message."""
        model = ScriptedModel(call(name), "All is well.")
        agent = LlmAgent(name="support", model=model, tools=[self.fetch, self.export])
        return served(agent), model


def responses(server: Served) -> list[dict[str, Any]]:
    parts = [part for event in server.session()["events"] for part in event.get("content", {}).get("parts", [])]
    return [part["functionResponse"] for part in parts if "functionResponse" in part]


def goes_on(server: Served, model: ScriptedModel) -> None:
    """The next message is answered; its request has exactly one response for the one call."""
    with server.start("And now?") as stream:
        *events, last = list(stream)
    assert last.data["customMetadata"]["outcome"]["kind"] == "completed"
    assert events[-1].text == "All is well."
    parts = [part for content in model.requests[-1].contents for part in content.parts or ()]
    asked = [part.function_call.id for part in parts if part.function_call is not None]
    told = [part.function_response.id for part in parts if part.function_response is not None]
    assert (len(asked), told) == (1, asked)


@pytest.mark.promise("A15")
@pytest.mark.parametrize("name", ["fetch", "export"])
def test_a_stop_in_a_tool(name: str) -> None:
    """No further call starts after the stop, the call has its answer, and the next message repeats nothing."""
    work = Work()
    server_of, model = work.served(name)
    with server_of as server:
        server.create()
        with server.start() as stream:
            assert work.begun.acquire(timeout=5)
            stopped = server.ask("POST", f"/runs/{stream.run_id}/abort").json
            list(stream)
        chunks = work.chunks
        assert stopped["outcome"]["kind"] == "aborted"
        [response] = responses(server)
        expected = {"fetch": "stopped", "export": "stopped between two chunks"}[name]
        assert expected in response["response"].values()
        goes_on(server, model)
        assert work.calls == [name]
        assert work.chunks == chunks


@pytest.mark.promise("A15")
def test_a_disconnect_between_call_and_response() -> None:
    """The call is sealed without its client; the next message works, and the tool is not called again."""
    work = Work()
    server_of, model = work.served("fetch")
    with server_of as server:
        server.create()
        with server.start() as stream:
            assert work.begun.acquire(timeout=5)
            stream.drop()
        assert server.ended(stream.run_id)["outcome"]["reason"] == "client_disconnect"
        [response] = responses(server)
        assert response["response"]["reason"] == "client_disconnect"
        goes_on(server, model)
        assert work.calls == ["fetch"]


@pytest.mark.promise("A15")
def test_endings_are_counted_apart() -> None:
    """Completed, aborted and failed runs have counters of their own."""
    begun = threading.Semaphore(0)

    def silent(scope: Any) -> None:
        begun.release()
        scope.sleep(60)

    model = ScriptedModel(["Hi."], [silent], ValueError("broken"))
    with served(LlmAgent(name="support", model=model)) as server:
        server.create()
        with server.start() as stream:
            list(stream)
        assert_counted(server, completed=1)
        with server.start() as stream:
            assert begun.acquire(timeout=5)
            server.ask("POST", f"/runs/{stream.run_id}/abort")
        assert_counted(server, completed=1, aborted=1)
        with server.start() as stream:
            list(stream)
        assert_counted(server, completed=1, aborted=1, failed=1)


def assert_counted(server: Served, **wanted: int) -> None:
    lines = server.ask("GET", "/metrics").body.decode().splitlines()
    found = {}
    for line in lines:
        if line.startswith("rxagent_runs_ended_total{"):
            found[line.split('outcome="')[1].split('"')[0]] = int(line.rpartition(" ")[2])
    assert found == wanted
