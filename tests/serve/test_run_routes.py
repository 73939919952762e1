"""Runs over HTTP: started, listed, stopped; what happens when the session has one already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rxagent import LlmAgent
from rxagent.testing import ScriptedModel, call
from rxagent.testing.scripted_model import gate

from .served import Frame, Served, eventually, order, served


def agent_of(*turns: Any, **more: Any) -> LlmAgent:
    return LlmAgent(name="support", model=ScriptedModel(*turns, repeat_last=True), **more)


def test_a_run_streams_and_ends_in_its_outcome() -> None:
    """Partial events have no id, stored ones their sequence number, the last is the outcome; the id comes first."""
    with served(agent_of(["It is ", "warm."])) as server:
        server.create()
        with server.start(streaming=True) as stream:
            frames = list(stream)
        first, *events, last = frames
        assert first.comment == stream.run_id != ""
        assert [(frame.id, frame.text) for frame in events] == [(None, "It is "), (None, "warm."), ("2", "It is warm.")]
        assert {frame.data["invocationId"] for frame in events} == {stream.run_id}
        assert last.event == "outcome"
        assert last.data["invocationId"] == stream.run_id
        assert last.data["customMetadata"]["outcome"]["kind"] == "completed"
        assert server.get(f"/runs/{stream.run_id}")["outcome"] == last.data["customMetadata"]["outcome"]


def test_run_answers_with_all_events() -> None:
    """POST /run gives the stored events as a list, with the run's id and outcome in its headers."""
    with served(agent_of([call("get", city="Oslo")], ["21."], tools=[get])) as server:
        server.create()
        answer = server.ask("POST", "/run", order())
        assert answer.status == 200
        assert len(answer.json) == 3
        assert answer.json[2]["content"]["parts"] == [{"text": "21."}]
        assert answer.headers["rxagent-outcome"] == "completed"
        assert [run["runId"] for run in server.get("/runs")] == [answer.headers["rxagent-run-id"]]


def get(city: str) -> dict[str, int]:
    """Weather."""
    return {"degrees": len(city)}


def test_a_failed_run_says_so_in_a_frame() -> None:
    """An error after the headers is an error frame and an outcome, never a silent end; POST /run answers 500."""
    with served(agent_of(["Half", ValueError("the model broke")])) as server:
        server.create()
        with server.start(streaming=True) as stream:
            *_, error, outcome = list(stream)
        assert (error.event, outcome.event) == ("error", "outcome")
        assert "the model broke" in error.data["error"]
        assert outcome.data["customMetadata"]["outcome"]["kind"] == "failed"
        answer = server.ask("POST", "/run", order())
        assert answer.status == 500
        assert "the model broke" in answer.json["detail"]


def waiting(begun: threading.Semaphore) -> Callable[[], Coroutine[Any, Any, str]]:
    """A tool that never ends by itself, and says when it begins."""

    async def slow() -> str:
        """Wait."""
        begun.release()
        await asyncio.sleep(60)
        return "never"

    return slow


@pytest.fixture
def begun() -> threading.Semaphore:
    return threading.Semaphore(0)


@pytest.fixture
def busy(begun: threading.Semaphore) -> Iterator[Served]:
    """A server whose agent's every question is answered by a call of a tool that waits."""
    with served(agent_of([call("slow")], tools=[waiting(begun)])) as server:
        server.create()
        yield server


def kinds(frames: Iterable[Frame]) -> list[tuple[str, str | None]]:
    """Kind and reason of the outcomes among the frames."""
    outcomes = [frame.data["customMetadata"]["outcome"] for frame in frames if frame.event == "outcome"]
    return [(one["kind"], one.get("reason")) for one in outcomes]


def test_a_stop_answers_when_the_seal_is_stored(busy: Served, begun: threading.Semaphore) -> None:
    """POST /runs/R/abort returns the ended run; the log is sealed then, and the stream has told its end."""
    with busy.start() as stream:
        assert begun.acquire(timeout=5)
        answer = busy.ask("POST", f"/runs/{stream.run_id}/abort", {"reason": "enough"})
        events = busy.session()["events"]
        frames = list(stream)
    assert answer.status == 200
    assert (answer.json["state"], answer.json["outcome"]["kind"], answer.json["outcome"]["reason"]) == (
        "ended",
        "aborted",
        "enough",
    )
    assert events[-1]["errorCode"] == "INVOCATION_ABORTED"
    assert kinds(frames) == [("aborted", "enough")]


def test_stopping_twice_gives_the_same_answer(busy: Served, begun: threading.Semaphore) -> None:
    """The second click on Stop gets what the first got, also when the run has ended long since; so does a later one."""
    with busy.start() as stream:
        assert begun.acquire(timeout=5)
        path = f"/runs/{stream.run_id}/abort"
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(lambda reason: busy.ask("POST", path, {"reason": reason}), ["one", "two"])
        third = busy.ask("POST", path)
    assert (first.status, second.status, third.status) == (200, 200, 200)
    assert first.json == second.json == third.json


def test_what_no_run_has_is_404(busy: Served) -> None:
    """An unknown run is a 404 for each of its routes, and a stop that makes no sense a 422."""
    for method, path in (("GET", "/runs/none"), ("POST", "/runs/none/abort"), ("GET", "/runs/none/events")):
        assert busy.ask(method, path).status == 404
    assert busy.ask("POST", "/runs/none/abort", {"after": "never"}).status == 422
    assert busy.ask("POST", "/runs/none/abort", ["now"]).status == 422
    assert busy.ask("GET", "/runs/none/events", headers={"Last-Event-ID": "x"}).status == 422


def test_a_busy_session_queues_by_default(busy: Served, begun: threading.Semaphore) -> None:
    """A second run waits, is listed as waiting, can be stopped there, and leaves nothing in the log."""
    with busy.start() as first:
        assert begun.acquire(timeout=5)
        with busy.start("Second") as second:
            assert [run["state"] for run in busy.get("/runs")] == ["waiting", "running"]
            assert busy.ask("POST", f"/runs/{second.run_id}/abort").json["outcome"]["kind"] == "aborted"
            assert kinds(second) == [("aborted", "user_stop")]
        assert [event["author"] for event in busy.session()["events"]] == ["user", "support"]
        busy.ask("POST", f"/runs/{first.run_id}/abort")


def test_a_busy_session_rejects_when_asked_to(busy: Served, begun: threading.Semaphore) -> None:
    """busy=reject answers 409 while a run is there, and runs when there is none: the slot is free after a stop."""
    with busy.start() as first:
        assert begun.acquire(timeout=5)
        answer = busy.ask("POST", "/run_sse?busy=reject", order("Second"))
        assert answer.status == 409
        assert first.run_id in answer.json["detail"] or "has a run" in answer.json["detail"]
        with busy.start("Other", session="s2", busy="reject") as other:
            assert other.status == 404  # another session is not busy; it only does not exist
        busy.ask("POST", f"/runs/{first.run_id}/abort")
    with busy.start("Third", busy="reject") as third:
        assert third.status == 200
        assert begun.acquire(timeout=5)
        busy.ask("POST", f"/runs/{third.run_id}/abort")


def test_a_busy_session_is_interrupted_when_asked_to(busy: Served, begun: threading.Semaphore) -> None:
    """busy=interrupt stops the run that is there and those in line; the new one starts when their seals are stored."""
    with busy.start("First") as first, busy.start("Second") as second:
        assert begun.acquire(timeout=5)
        with busy.start("Third", query="?busy=interrupt") as third:
            assert kinds(first) == [("aborted", "interrupted")]
            assert kinds(second) == [("aborted", "interrupted")]
            assert begun.acquire(timeout=5)
            texts = [event.get("content", {}).get("parts", [{}])[0].get("text") for event in busy.session()["events"]]
            assert [text for text in texts if text] == ["First", "Third"]
            busy.ask("POST", f"/runs/{third.run_id}/abort")


def test_a_run_that_no_server_started_is_interrupted_too(busy: Served, begun: threading.Semaphore) -> None:
    """One of the program itself, or of a shell on the same file, ends as interrupted; the new one follows."""
    own = busy.runner.start("me", "s1", "First")
    assert begun.acquire(timeout=5)
    with busy.start("Second", busy="interrupt") as second:
        outcome = own.wait(5)
        assert outcome is not None
        assert (outcome.kind, outcome.reason) == ("aborted", "interrupted")
        assert begun.acquire(timeout=5)
        busy.ask("POST", f"/runs/{second.run_id}/abort")


def test_runs_are_listed_by_what_is_asked(busy: Served, begun: threading.Semaphore) -> None:
    """GET /runs gives the latest first and takes user, session, state and limit."""
    busy.create("s2", "you")
    with busy.start() as one, busy.start("Hi", "s2", "you") as two:
        for _ in range(2):
            assert begun.acquire(timeout=5)
        assert [run["runId"] for run in busy.get("/runs")] == [two.run_id, one.run_id]
        assert [run["runId"] for run in busy.get("/runs?user=me&session=s1")] == [one.run_id]
        assert [run["runId"] for run in busy.get("/runs?limit=1")] == [two.run_id]
        busy.ask("POST", f"/runs/{one.run_id}/abort")
        assert [run["runId"] for run in busy.get("/runs?state=running")] == [two.run_id]
        assert [run["runId"] for run in busy.get("/runs?state=ended&limit=1")] == [one.run_id]
        assert busy.ask("GET", "/runs?limit=x").status == busy.ask("GET", "/runs?state=x").status == 422
        busy.ask("POST", f"/runs/{two.run_id}/abort")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"newMessage": None}, 422),
        ({"newMessage": {"role": "user", "parts": []}}, 422),
        ({"busy": "perhaps"}, 422),
        ({"onDisconnect": "perhaps"}, 422),
        ({"sessionId": "a/b"}, 422),
        ({"userId": ""}, 422),
        ({"sessionId": "unknown"}, 404),
        ({"appName": "unknown"}, 404),
        ({"invocationId": "e-1", "newMessage": None}, 422),
    ],
)
def test_what_is_no_run_request(busy: Served, change: dict[str, Any], status: int) -> None:
    """It is refused before the stream begins, in words; nothing is stored."""
    answer = busy.ask("POST", "/run_sse", {**order(), **change})
    assert answer.status == status
    assert answer.json["detail"]
    assert busy.get("/runs") == []
    assert busy.session()["events"] == []


def test_two_hundred_runs_end_in_a_terminal_frame_and_a_closed_stream() -> None:
    """No stream stays open after its last event, and each has exactly one outcome."""
    with served(agent_of(["Hello"])) as server:

        def one(number: int) -> list[tuple[str, str | None]]:
            server.create(f"s{number}")
            with server.start("Hi", f"s{number}") as stream:
                return kinds(stream)

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(one, range(200))) == [[("completed", None)]] * 200
        assert server.desk.readers == 0


def test_a_policy_for_each_disconnect(begun: threading.Semaphore) -> None:
    """A client that goes takes its run along by default; with onDisconnect=detach the run finishes and is stored."""
    go = threading.Event()
    with served(LlmAgent(name="support", model=ScriptedModel([gate(go), "Done."], repeat_last=True))) as server:
        server.create()
        with server.start() as stream:
            eventually(lambda: server.get("/runs?state=running"))
            stream.drop()
        run = server.ended(stream.run_id)
        assert (run["outcome"]["kind"], run["outcome"]["reason"]) == ("aborted", "client_disconnect")
        with server.start(onDisconnect="detach") as stream:
            eventually(lambda: server.get("/runs?state=running"))
            stream.drop()
        eventually(lambda: server.desk.readers == 0)
        assert server.get(f"/runs/{stream.run_id}")["state"] == "running"
        go.set()
        assert server.ended(stream.run_id)["outcome"]["kind"] == "completed"
        assert server.session()["events"][-1]["content"]["parts"] == [{"text": "Done."}]


def test_a_detached_run_can_be_stopped(busy: Served, begun: threading.Semaphore) -> None:
    """The stop route works whatever the policy."""
    with busy.start(query="?on_disconnect=detach") as stream:
        assert begun.acquire(timeout=5)
        stream.drop()
    assert busy.ask("POST", f"/runs/{stream.run_id}/abort").json["outcome"]["kind"] == "aborted"
