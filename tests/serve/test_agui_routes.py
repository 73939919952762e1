"""AG-UI over sockets, read with the types of the protocol's own package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Event, Message, RunAgentInput, UserMessage
from pydantic import TypeAdapter

from rxagent.events.state import REMOVED

from .served import Client, Stream, child

AGENT = Path(__file__).with_name("page_agent.py")
EVENT: TypeAdapter[Any] = TypeAdapter(Event)


@pytest.fixture(scope="module")
def server() -> Iterator[Client]:
    with child(AGENT) as client:
        yield client


def body(thread: str, text: str = "", run: str = "r1", version: str | None = "1.0", **more: Any) -> dict[str, Any]:
    messages: list[Message] = [UserMessage(id="m1", content=text)] if text else []
    asked = RunAgentInput(thread_id=thread, run_id=run, protocol_version=version, messages=messages, **more)
    fields: dict[str, Any] = asked.model_dump(mode="json", by_alias=True)
    return fields


def told(stream: Stream) -> Iterator[Any]:
    return (EVENT.validate_python(frame.data) for frame in stream if frame.data is not None)


def run(server: Client, asked: dict[str, Any]) -> list[Any]:
    with server.open("POST", "/agui", asked) as stream:
        assert stream.status == 200
        return list(told(stream))


def test_a_run_is_a_valid_stream(server: Client) -> None:
    """Every frame is an event of the protocol, no field is null, the first tells our id of the run."""
    with server.open("POST", "/agui", body("a", "hello")) as stream:
        frames = [frame.data for frame in stream if frame.data is not None]
    assert all(None not in frame.values() for frame in frames)
    events = [EVENT.validate_python(frame) for frame in frames]
    assert events[0].type == "RUN_STARTED"
    assert events[0].metadata["rxagent"]["runId"] == stream.run_id
    assert events[-1].outcome.type == "success"
    assert server.session("a", app="rxagent")["events"][1]["content"]["parts"] == [{"text": "You said: hello"}]


@pytest.mark.parametrize(("version", "outcome"), [("1.0", "cancelled"), (None, None)])
def test_cancel_by_the_clients_own_id(server: Client, version: str | None, outcome: str | None) -> None:
    """The route answers when the seal is stored; the stream ends by the book, for older clients without the outcome."""
    thread = f"cancel {version}"
    with server.open("POST", "/agui", body(thread, "export it", run=thread, version=version)) as stream:
        events = told(stream)
        assert any(event.type == "TOOL_CALL_END" for event in events)
        stopped = server.ask("POST", f"/agui/runs/{thread.replace(' ', '%20')}/cancel", {"reason": "enough"})
        assert (stopped.status, stopped.json["outcome"]["reason"]) == (200, "enough")
        result, *others = list(events)
    assert result.type == "TOOL_CALL_RESULT"
    assert (others[-1].outcome and others[-1].outcome.type) == outcome
    assert server.ask("POST", "/agui/runs/none/cancel").status == 404


def test_cancel_by_way_of_another_server(tmp_path: Path) -> None:
    """A run is stopped from any process on the file by its client's own id; its client sees the end."""
    db = str(tmp_path / "chat.db")
    with child(AGENT, "--db", db) as one, child(AGENT, "--db", db) as other:
        with one.open("POST", "/agui", body("far", "export it", run="far away")) as stream:
            events = told(stream)
            assert any(event.type == "TOOL_CALL_END" for event in events)
            stopped = other.ask("POST", "/agui/runs/far%20away/cancel", {"reason": "enough"})
            assert (stopped.status, stopped.json["runId"]) == (200, stream.run_id)
            assert stopped.json["outcome"]["reason"] == "enough"
            assert list(events)[-1].outcome.type == "cancelled"
        again = other.ask("POST", "/agui/runs/far%20away/cancel")
        assert (again.status, again.json["outcome"]) == (200, stopped.json["outcome"])


def test_a_client_that_goes_stops_its_run(server: Client) -> None:
    """The session is sealed all the same."""
    stream = server.open("POST", "/agui", body("gone", "export it"))
    assert any(event.type == "TOOL_CALL_END" for event in told(stream))
    stream.drop()
    assert server.ended(stream.run_id)["outcome"]["reason"] == "client_disconnect"


def test_resume_answers_what_is_asked(server: Client) -> None:
    """No, and a result; an answer to something else, twice, or without a decision is refused."""
    (interrupt,) = run(server, body("no", "refund it"))[-1].outcome.interrupts
    for entry, status in [
        ({"interruptId": "other", "status": "resolved"}, 409),
        ({"interruptId": interrupt.id, "status": "resolved", "payload": "well"}, 422),
    ]:
        assert server.ask("POST", "/agui", body("no", resume=[entry])).status == status
    entry = {"interruptId": interrupt.id, "status": "cancelled"}
    events = run(server, body("no", resume=[entry]))
    assert "rejected" in next(one.content for one in events if one.type == "TOOL_CALL_RESULT")
    assert server.ask("POST", "/agui", body("no", resume=[entry])).status == 409

    (interrupt,) = run(server, body("depot", "parcel please"))[-1].outcome.interrupts
    entry = {"interruptId": interrupt.id, "status": "resolved", "payload": {"place": "Oslo"}}
    events = run(server, body("depot", resume=[entry]))
    (result,) = (one for one in events if one.type == "TOOL_CALL_RESULT")
    assert (result.tool_call_id, result.content) == (interrupt.tool_call_id, '{"place": "Oslo"}')
    assert events[-1].outcome.type == "success"


def test_a_question_that_is_passed_over_is_asked_again(server: Client) -> None:
    """A new message without its answer is answered, and the run ends with the same interrupt; answered, it is gone."""
    (asked,) = run(server, body("over", "refund it"))[-1].outcome.interrupts
    (again,) = run(server, body("over", "hello"))[-1].outcome.interrupts
    assert again.model_copy(update={"tool_call_id": asked.tool_call_id}) == asked
    entry = {"interruptId": asked.id, "status": "resolved", "payload": {"confirmed": True}}
    assert run(server, body("over", resume=[entry]))[-1].outcome.type == "success"


def test_a_run_that_fails_ends_in_an_error(server: Client) -> None:
    """RUN_ERROR with the words; nothing after it."""
    last = run(server, body("fails", "fail"))[-1]
    assert last.type == "RUN_ERROR"
    assert "on fire" in last.message


def test_a_run_starts_from_the_clients_state(server: Client) -> None:
    """What it has changed is a delta of the user's event; what it does not name stays, what it repeats is no change."""

    def snapshot(**more: Any) -> Any:
        events = run(server, body("state", "hello", **more))
        return next(one.snapshot for one in events if one.type == "STATE_SNAPSHOT")

    assert snapshot(state={"colour": "red", "deep": {"n": [1]}}) == {"colour": "red", "deep": {"n": [1]}}
    assert snapshot(state={"colour": "blue", "deep": {"n": [1]}})["colour"] == "blue"
    assert snapshot(state={}, forwarded_props={"stateDelta": {"n": 1}}) == {
        "colour": "blue",
        "deep": {"n": [1]},
        "n": 1,
    }
    assert snapshot(state=["no object"])["n"] == 1
    log = server.session("state", app="rxagent")
    assert log["state"] == {"colour": "blue", "deep": {"n": [1]}, "n": 1}
    deltas = [event["actions"]["stateDelta"] for event in log["events"] if event["author"] == "user"]
    assert deltas == [{"colour": "red", "deep": {"n": [1]}}, {"colour": "blue"}, {"n": 1}, {}]


def test_a_copy_of_shared_state_changes_nothing(server: Client) -> None:
    """What other sessions share, and what is temporary, is not the client's to send back; a change by name is."""
    shared = {"app:news": "old", "user:name": "Ada", "temp:x": 1}
    run(server, body("shared", "hello", state={**shared, "own": 1}))
    assert server.session("shared", app="rxagent")["state"] == {"own": 1}
    run(server, body("shared", "hello", forwarded_props={"stateDelta": {"user:name": "Ada"}}))
    assert server.session("shared", app="rxagent")["state"] == {"own": 1, "user:name": "Ada"}
    delta = {"user:name": REMOVED, "temp:x": 1}
    events = run(server, body("shared", "hello", forwarded_props={"stateDelta": delta}))
    assert next(one.snapshot for one in events if one.type == "STATE_SNAPSHOT") == {"own": 1}


@pytest.mark.parametrize("asked", [{}, {"threadId": "x"}, body("x"), body("a/b", "hello")])
def test_what_is_no_request_is_refused(server: Client, asked: dict[str, Any]) -> None:
    """With a status, before any event."""
    assert server.ask("POST", "/agui", asked).status == 422
