"""Event: ids, times, what it holds, when it is final."""

from __future__ import annotations

import multiprocessing
import random
import uuid
from typing import Any

import pytest
from pydantic import ValidationError

from rxagent.events import Content, Event, FunctionCall, FunctionResponse, Part, new_event_id, now_ms

TEXT = {"text": "Hi"}
CALL = {"functionCall": {"id": "c", "name": "f"}}
RESPONSE = {"functionResponse": {"id": "c", "name": "f"}}
CODE = {"executableCode": {"code": "1"}}
RESULT = {"codeExecutionResult": {"output": "1"}}


@pytest.mark.parametrize(
    ("fields", "final"),
    [
        ({}, True),
        ({"content": {"parts": [TEXT]}}, True),
        ({"content": {"parts": []}}, True),
        ({"errorCode": "X"}, True),
        ({"actions": {"stateDelta": {"k": 1}}}, True),
        ({"content": {"parts": [TEXT]}, "partial": True}, False),
        ({"content": {"parts": [TEXT]}, "partial": False}, True),
        ({"content": {"parts": [TEXT, CALL]}}, False),
        ({"content": {"parts": [RESPONSE]}}, False),
        ({"content": {"parts": [RESPONSE]}, "actions": {"skipSummarization": True}}, True),
        ({"content": {"parts": [RESPONSE]}, "actions": {"skipSummarization": False}}, False),
        ({"content": {"parts": [CALL]}, "longRunningToolIds": ["c"]}, True),
        ({"content": {"parts": [CALL]}, "longRunningToolIds": []}, False),
        ({"content": {"parts": [CODE, RESULT]}}, False),
        ({"content": {"parts": [RESULT, TEXT]}}, True),
        ({"content": {"parts": [TEXT]}, "partial": True, "longRunningToolIds": ["c"]}, True),
    ],
)
def test_final_response(fields: dict[str, Any], final: bool) -> None:
    """An event is final by ADK Java's rules (Event.finalResponse)."""
    assert Event.model_validate(fields).final_response() is final


def test_what_an_event_holds() -> None:
    """Text without thoughts, calls and responses, in the order of the parts."""
    one, two = FunctionCall(name="one"), FunctionCall(name="two")
    answer = FunctionResponse(name="one")
    event = Event(
        content=Content(
            parts=(
                Part(text="think", thought=True),
                Part(text="a"),
                Part(function_call=one),
                Part(function_response=answer),
                Part(text="b"),
                Part(function_call=two),
            )
        )
    )
    assert event.text == "ab"
    assert event.function_calls == (one, two)
    assert event.function_responses == (answer,)
    assert Event().text == ""
    assert Event().parts == ()
    assert Event(content=Content()).parts == ()


def test_ids_are_uuids() -> None:
    """A fresh id is a UUID of version 4, and no two are the same."""
    ids = [new_event_id() for _ in range(2_000)]
    assert len(set(ids)) == len(ids)
    for text in ids:
        parsed = uuid.UUID(text)
        assert (str(parsed), parsed.version, parsed.variant) == (text, 4, uuid.RFC_4122)


def test_ids_do_not_follow_the_shared_generator() -> None:
    """A program that seeds `random` does not get the same ids again."""
    random.seed(1)
    first = new_event_id()
    random.seed(1)
    assert new_event_id() != first


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
def test_a_forked_child_has_other_ids() -> None:
    """After a fork parent and child make different ids."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=lambda: theirs.send(new_event_id()))
    child.start()
    mine = new_event_id()
    assert ours.poll(10)
    assert ours.recv() != mine
    child.join(10)
    child.close()
    ours.close()
    theirs.close()


def test_defaults() -> None:
    """An event gets an id, the time and its own actions; `seq` waits for the store."""
    before = now_ms()
    one, two = Event(), Event()
    assert before <= one.timestamp <= now_ms()
    assert one.id != two.id
    assert one.actions is not two.actions
    assert one.seq is None


def test_events_do_not_change() -> None:
    """Fields cannot be set; a changed copy is a new event with what it did not name unchanged."""
    event = Event(author="a", content=Content.model("Hi"))
    with pytest.raises(ValidationError, match="frozen"):
        event.author = "b"
    stored = event.model_copy(update={"seq": 3})
    assert (stored.id, stored.seq, stored.content) == (event.id, 3, event.content)
    assert stored != event


def test_events_can_stand_in_sets() -> None:
    """Equal events have equal hashes, so `distinct` and sets work."""
    event = Event(author="a")
    again = Event.model_validate_json(event.model_dump_json(by_alias=True))
    assert len({event, again}) == 1
