"""The end of a server, ordered and not."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from pathlib import Path
from typing import Any

from rxagent import LlmAgent
from rxagent.serve.server import raise_file_limit
from rxagent.testing import ScriptedModel, call

from .agents import steps_module, waiting_module
from .served import Client, child, eventually, order, served

APP = "rxagent"


def test_shutdown_stops_runs_and_tells_their_readers() -> None:
    """Each run ends as worker_shutdown, sealed, each stream gets its last frame; no run starts any more."""
    begun = threading.Semaphore(0)

    def silent(scope: Any) -> None:
        begun.release()
        scope.sleep(60)

    agent = LlmAgent(name="support", model=ScriptedModel(["Half", silent], repeat_last=True))
    with served(agent) as server:
        streams = []
        for number in range(3):
            server.create(f"s{number}")
            streams.append(server.start("Hi", f"s{number}"))
            assert begun.acquire(timeout=5)
        waiting = server.start("Second", "s0")
        server.server.should_exit = True
        for stream in (*streams, waiting):
            with stream:
                outcome = list(stream)[-1].data["customMetadata"]["outcome"]
            assert (outcome["kind"], outcome["reason"]) == ("aborted", "worker_shutdown")
        service = server.runner.session_service
        for number in range(3):
            session = service.get_session("app", "me", f"s{number}")
            assert session is not None
            assert session.events[-1].error_code == "INVOCATION_ABORTED"  # type: ignore[union-attr]


def test_sigterm_seals_before_the_process_ends(tmp_path: Path) -> None:
    """The reader sees the end of the run, the process goes within seconds, and the file holds the seal."""
    module, db = waiting_module(tmp_path), str(tmp_path / "chat.db")
    with child(module, "--db", db) as server:
        server.create(app=APP)
        with server.open("POST", "/run_sse", {**order(), "appName": APP}) as stream:
            next(stream.events())
            assert server.pid is not None
            os.kill(server.pid, signal.SIGTERM)
            outcome = list(stream)[-1].data["customMetadata"]["outcome"]
        assert (outcome["kind"], outcome["reason"]) == ("aborted", "worker_shutdown")
        eventually(lambda: not _is_alive(server))
    with child(module, "--db", db) as again:
        assert again.session(app=APP)["events"][-1]["errorCode"] == "INVOCATION_ABORTED"
        assert again.get(f"/runs/{stream.run_id}")["outcome"] == outcome


def _is_alive(server: Client) -> bool:
    try:
        return Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_killed_server_loses_no_event_that_it_had_told(tmp_path: Path) -> None:
    """kill -9 in the middle of a run; after a restart every event that a reader saw is there, and the session works."""
    module, db = steps_module(tmp_path), str(tmp_path / "chat.db")
    with child(module, "--db", db) as server:
        server.create(app=APP)
        with server.open("POST", "/run_sse", {**order(), "appName": APP}) as stream:
            events = stream.events()
            seen = [next(events) for _ in range(20)]
            assert server.pid is not None
            os.kill(server.pid, signal.SIGKILL)
    with child(module, "--db", db) as again:
        stored = {event["id"]: event for event in again.session(app=APP)["events"]}
        assert all(stored.get(frame.data["id"]) == frame.data for frame in seen)
        run = again.get(f"/runs/{stream.run_id}")
        assert (run["state"], run["outcome"]["reason"]) == ("ended", "worker_lost")
        with again.open("GET", f"/runs/{stream.run_id}/events") as replay:
            *_, error, last = list(replay)
        assert (error.event, last.event) == ("error", "outcome")
        with again.open("POST", "/run_sse", {**order("Again"), "appName": APP}) as second:
            next(second.events())
            again.ask("POST", f"/runs/{second.run_id}/abort")


def test_blocking_tools_do_not_freeze_the_server() -> None:
    """Health answers at once while ten blocking tools run, and so do the streams of other sessions."""
    begun, end = threading.Semaphore(0), threading.Event()

    def block() -> str:
        """Block."""
        begun.release()
        end.wait(10)
        return "done"

    async def freeze() -> str:
        """An asynchronous tool that blocks its loop, which none should."""
        return block()

    model = ScriptedModel(*[[call("block")]] * 10, [call("freeze")], "Hi.", repeat_last=True)
    with served(LlmAgent(name="support", model=model, tools=[block, freeze])) as server:
        streams = []
        for number in range(11):
            server.create(f"s{number}")
            streams.append(server.start("Hi", f"s{number}"))
            assert begun.acquire(timeout=5)
        slowest = 0.0
        for _ in range(20):
            began = time.monotonic()
            assert server.get("/health") == {"status": "ok"}
            slowest = max(slowest, time.monotonic() - began)
        server.create("other")
        with server.start("Hi", "other") as other:
            assert list(other.events())[-1].text == "Hi."
        end.set()
        for stream in streams:
            with stream:
                assert list(stream)[-1].data["customMetadata"]["outcome"]["kind"] == "completed"
    assert slowest < 0.1


def test_the_limit_of_open_files_is_raised() -> None:
    """To what the system allows; the process keeps it."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[0], 512), before[1]))
        assert raise_file_limit() == before[1]
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == before[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
