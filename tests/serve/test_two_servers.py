"""Two server processes on one file: their runs of one session follow each other, and the log stays whole."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

from .agents import pairs_module
from .served import Client, child, order

APP = "rxagent"
TURNS = 20


def test_twenty_turns_in_each_of_two_processes(tmp_path: Path) -> None:
    """Forty runs of one session: none fails, none is mixed with another, each call stands before its response."""
    module, db = pairs_module(tmp_path), str(tmp_path / "chat.db")
    with child(module, "--db", db) as one, child(module, "--db", db) as other:
        one.create(app=APP)

        def turns(server: Client) -> list[int]:
            return [
                server.ask("POST", "/run", {**order(f"{server.port} {number}"), "appName": APP}).status
                for number in range(TURNS)
            ]

        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(turns, (one, other))) == [[200] * TURNS] * 2
        log = one.session(app=APP)["events"]
        assert log == other.session(app=APP)["events"]
    runs = [event["invocationId"] for event in log]
    assert len(set(runs)) == 2 * TURNS
    blocks = [runs[0], *(run for before, run in pairwise(runs) if run != before)]
    assert len(blocks) == len(set(blocks)), "events of two runs stand between each other"
    asked = [(at, one["id"]) for at, event in enumerate(log) for one in parts(event, "functionCall")]
    told = [(at - 1, one["id"]) for at, event in enumerate(log) for one in parts(event, "functionResponse")]
    assert asked == told
    assert len(asked) == 2 * TURNS


def parts(event: Any, kind: str) -> list[Any]:
    return [part[kind] for part in event.get("content", {}).get("parts", ()) if kind in part]


def test_servers_that_start_together_on_a_new_file(tmp_path: Path) -> None:
    """Each opens it, and all can write: nobody meets a locked database."""
    module, db = pairs_module(tmp_path), str(tmp_path / "new.db")

    def serve(number: int) -> int:
        with child(module, "--db", db) as server:
            server.create(f"s{number}", app=APP)
            return server.ask("POST", "/run", {**order("Hi", f"s{number}"), "appName": APP}).status

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(serve, range(4))) == [200] * 4
