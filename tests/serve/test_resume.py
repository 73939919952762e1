"""Pauses over HTTP: questions, answers, and runs that go on with an earlier invocation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rxagent import App, FunctionTool, LlmAgent, ResumabilityConfig, Runner, SqliteSessionService
from rxagent.testing import ScriptedModel, call

from .served import Frame, Served, served

PENDING = "/apps/app/users/me/sessions/s1/pending"
refunds: list[int] = []


def refund(order: int) -> str:
    """Refund an order."""
    refunds.append(order)
    return "refunded"


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Served, Served]]:
    """Two servers on one file, whose agent asks before it refunds."""
    refunds.clear()
    model = ScriptedModel(call("refund", order=7), "Done.")
    runners = []
    for _ in range(2):
        tool = FunctionTool(refund, require_confirmation=True)
        app = App(
            "app",
            LlmAgent(name="support", model=model, tools=[tool]),
            resumability_config=ResumabilityConfig(resumable=True),
        )
        service = SqliteSessionService(tmp_path / "chat.db")
        runners.append(Runner(app=app, session_service=service, auto_create_session=False))
    with served(runners[0]) as one, served(runners[1]) as other:
        one.create()
        yield one, other
    for runner in runners:
        runner.session_service.close()


def ids(frames: list[Frame]) -> list[str | None]:
    return [frame.id for frame in frames if frame.id]


def test_a_question_is_answered_at_another_server(two: tuple[Served, Served]) -> None:
    """The run pauses; its question is listed anywhere; the answer goes on with the invocation, as a run of its own.

    Each of the two runs is read again as it was, also from the other server.
    """
    one, other = two
    with one.start() as stream:
        asked = list(stream)
    assert asked[-1].data["customMetadata"]["outcome"]["kind"] == "paused"
    [question] = other.get(PENDING)
    assert (question["kind"], question["name"], question["args"]) == ("confirmation", "refund", {"order": 7})
    body = {"appName": "app", "userId": "me", "sessionId": "s1", "newMessage": question["approve"]}
    with other.open("POST", "/run_sse", body) as second:
        answered = list(second)
    assert answered[-1].data["customMetadata"]["outcome"]["kind"] == "completed"
    assert refunds == [7]
    assert one.get(PENDING) == []
    assert second.run_id != stream.run_id
    resumed = one.get(f"/runs/{second.run_id}")
    assert (resumed["invocationId"], resumed["state"]) == (stream.run_id, "ended")
    for server in two:
        for run_id, frames in ((stream.run_id, asked), (second.run_id, answered)):
            with server.open("GET", f"/runs/{run_id}/events") as again:
                assert ids(list(again)) == ids(frames) != []


def test_a_second_answer_changes_nothing(two: tuple[Served, Served]) -> None:
    """It ends at once, completed, without an event."""
    one, _ = two
    one.ask("POST", "/run", {**_body(), "newMessage": {"parts": [{"text": "Hi"}]}})
    [question] = one.get(PENDING)
    first = one.ask("POST", "/run", {**_body(), "newMessage": question["reject"]})
    before = one.session()["events"]
    second = one.ask("POST", "/run", {**_body(), "newMessage": question["approve"]})
    assert (first.status, second.status, second.json) == (200, 200, [])
    assert one.session()["events"] == before
    assert refunds == []


def test_an_answer_to_nothing_is_told(two: tuple[Served, Served]) -> None:
    """An unknown call fails the run with words, and the session is untouched."""
    one, _ = two
    part = {"functionResponse": {"id": "none", "name": "refund", "response": {}}}
    answer = one.ask("POST", "/run", {**_body(), "newMessage": {"role": "user", "parts": [part]}})
    assert answer.status == 422
    assert "none" in answer.json["detail"]
    assert one.session()["events"] == []


def _body() -> dict[str, str]:
    return {"appName": "app", "userId": "me", "sessionId": "s1"}
