"""A16: a stop that comes to another process than the one that runs the agent stops the run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serve.agents import waiting_module
from tests.serve.served import Client, Stream, child, eventually, order

APP = "rxagent"
SOON = 1.0  # seconds that the promise names


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Client, Client]]:
    """Two servers, each a process, on one file."""
    monkeypatch.chdir(tmp_path)
    module, db = waiting_module(tmp_path), str(tmp_path / "chat.db")
    with child(module, "--db", db) as here, child(module, "--db", db) as there:
        yield here, there


def started(client: Client, session: str) -> Stream:
    """A run that is in its tool."""
    client.create(session, app=APP)
    before = tools_begun()
    stream = client.open("POST", "/run_sse", {**order("Hi", session), "appName": APP})
    eventually(lambda: tools_begun() > before)
    return stream


def tools_begun() -> int:
    file = Path("begun")
    return len(file.read_text()) if file.exists() else 0


def sealed(client: Client, session: str) -> list[tuple[Any, Any]]:
    """Author and error of each event; the response of each call."""
    events = client.session(session, app=APP)["events"]
    responses = [part.get("functionResponse", {}).get("response") for event in events for part in _parts(event)]
    return [(event["author"], event.get("errorCode")) for event in events] + [(None, one) for one in responses if one]


def _parts(event: Any) -> list[Any]:
    return list(event.get("content", {}).get("parts", ()))


@pytest.mark.promise("A16")
def test_a_stop_at_the_wrong_process(two: tuple[Client, Client]) -> None:
    """It reaches the run within a second, and again gives the same answer; run and log end as after a local stop."""
    here, there = two
    ends, answers, logs = [], [], []
    for session, door in (("local", here), ("far", there)):
        with started(here, session) as stream:
            began = time.monotonic()
            answers.append(door.ask("POST", f"/runs/{stream.run_id}/abort", {"reason": "user_stop"}))
            assert time.monotonic() - began < SOON
            assert [door.ask("POST", f"/runs/{stream.run_id}/abort").json for door in two] == [answers[-1].json] * 2
            ends.append([frame for frame in stream if frame.event][-1].data["customMetadata"]["outcome"])
            logs.append(sealed(there, session))
    assert [answer.status for answer in answers] == [200, 200]
    assert [answer.json["outcome"] for answer in answers] == ends
    for end in ends:
        assert (end["kind"], end["reason"], end["eventsSaved"]) == ("aborted", "user_stop", 2)
    assert logs[0] == logs[1]


@pytest.mark.promise("A16")
def test_a_stop_at_the_wrong_process_for_a_run_in_line(two: tuple[Client, Client]) -> None:
    """A run that waits for its turn is stopped there too, and stores nothing; the one before it goes on."""
    here, there = two
    with started(here, "s1") as first:
        with here.open("POST", "/run_sse", {**order("Second"), "appName": APP}) as second:
            began = time.monotonic()
            answer = there.ask("POST", f"/runs/{second.run_id}/abort")
            assert time.monotonic() - began < SOON
            assert answer.json["outcome"]["kind"] == "aborted"
        assert there.get(f"/runs/{first.run_id}")["state"] == "running"
        assert [author for author, _ in sealed(there, "s1")] == ["user", "support"]
        there.ask("POST", f"/runs/{first.run_id}/abort")


@pytest.mark.promise("A16")
def test_an_interrupt_from_another_process(two: tuple[Client, Client]) -> None:
    """busy=interrupt stops a run of another server, busy=reject sees it; the new one starts behind its seal."""
    here, there = two
    with started(here, "s1") as first:
        request = {**order("Second"), "appName": APP}
        assert there.ask("POST", "/run_sse?busy=reject", request).status == 409
        with there.open("POST", "/run_sse?busy=interrupt", request) as second:
            last = list(first)[-1].data["customMetadata"]["outcome"]
            assert (last["kind"], last["reason"]) == ("aborted", "interrupted")
            next(second.events())
            authors = [event["author"] for event in here.session("s1", app=APP)["events"]]
            assert authors == ["user", "support", "support", "user", "support"]
            here.ask("POST", f"/runs/{second.run_id}/abort")
        eventually(lambda: all(run["state"] == "ended" for run in here.get("/runs")))
