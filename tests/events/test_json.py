"""ADK's JSON, both ways."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rxagent.events import (
    Blob,
    Content,
    Event,
    EventActions,
    EventCompaction,
    FunctionCall,
    FunctionResponse,
    Part,
    ToolConfirmation,
    UsageMetadata,
)

RECORDED = json.loads(Path(__file__).with_name("adk_events.json").read_text())
EMPTY_MEMBERS: dict[str, Any] = {
    "stateDelta": {},
    "artifactDelta": {},
    "deletedArtifactIds": [],
    "requestedAuthConfigs": {},
    "requestedToolConfirmations": {},
}


def dumped(event: Event) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(event.model_dump_json(by_alias=True))
    return value


@pytest.mark.parametrize("row", RECORDED, ids=[f"{n}-{row['from']}" for n, row in enumerate(RECORDED)])
def test_recorded_events_survive(row: dict[str, Any]) -> None:
    """Events recorded from ADK Java and ADK Python are read and written again without a change."""
    wanted = row["event"]
    again = dumped(Event.model_validate_json(json.dumps(wanted)))
    if "timestamp" not in wanted:  # the recording leaves it out
        del again["timestamp"]
    actions = EMPTY_MEMBERS | wanted.get("actions", {})
    for asked in actions["requestedToolConfirmations"].values():
        asked.setdefault("hint", "")
        asked.setdefault("confirmed", False)
    assert again == wanted | {"actions": actions}


def test_the_keys_of_an_event() -> None:
    """Keys are camelCase, absent fields are left out, the empty members of actions stand as ADK Java writes them."""
    event = Event(
        id="e",
        invocation_id="i",
        author="a",
        content=Content.model("Hi"),
        partial=False,
        usage_metadata=UsageMetadata(prompt_token_count=3),
        timestamp=1_700_000_000_000,
        seq=7,
    )
    assert event.model_dump_json(by_alias=True) == (
        '{"id":"e","invocationId":"i","author":"a","content":{"role":"model","parts":[{"text":"Hi"}]},'
        '"actions":{"stateDelta":{},"artifactDelta":{},"deletedArtifactIds":[],"requestedAuthConfigs":{},'
        '"requestedToolConfirmations":{}},"partial":false,"usageMetadata":{"promptTokenCount":3},'
        '"timestamp":1700000000000}'
    )


def test_none_inside_a_map_stays() -> None:
    """None in arguments, results, state and metadata is a value; an absent field is none."""
    call = Part(function_call=FunctionCall(id="c", name="f", args={"a": None, "b": [None, {"c": None}]}))
    answer = Part(function_response=FunctionResponse(id="c", name="f", response={"result": None}))
    event = Event(
        content=Content(parts=(call, answer)),
        actions=EventActions(state_delta={"k": None}, agent_state={"s": None}),
        custom_metadata={"m": None},
        grounding_metadata={"g": {"h": None}},
    )
    again = Event.model_validate_json(event.model_dump_json(by_alias=True))
    assert again == event
    assert again.function_calls[0].args == {"a": None, "b": [None, {"c": None}]}
    assert again.function_responses[0].response == {"result": None}
    assert again.actions.state_delta == {"k": None}
    assert again.grounding_metadata == {"g": {"h": None}}
    assert "branch" not in dumped(event)


def test_unknown_fields_stay() -> None:
    """Fields of a later ADK are kept at every level."""
    text = {
        "id": "e",
        "nodeInfo": {"path": ["a"]},
        "content": {"parts": [{"text": "x", "videoMetadata": {"fps": 2}}], "lang": "en"},
        "actions": {"renderUiWidgets": [1], "requestedToolConfirmations": {"c": {"hint": "?", "level": 3}}},
        "usageMetadata": {"promptTokensDetails": [{"modality": "TEXT"}]},
    }
    again = dumped(Event.model_validate(text))
    assert again["nodeInfo"] == {"path": ["a"]}
    assert again["content"] == text["content"]
    assert again["actions"]["renderUiWidgets"] == [1]
    assert again["actions"]["requestedToolConfirmations"] == {"c": {"hint": "?", "confirmed": False, "level": 3}}
    assert again["usageMetadata"] == text["usageMetadata"]


def test_either_name_is_read() -> None:
    """snake_case and camelCase mean the same when read."""
    assert Event.model_validate({"id": "e", "invocation_id": "i", "timestamp": 5}) == Event.model_validate(
        {"id": "e", "invocationId": "i", "timestamp": 5}
    )


@given(st.binary())
def test_bytes_are_base64(data: bytes) -> None:
    """Bytes are written in the standard alphabet, and read in that and in the URL-safe one, padded or not."""
    text = Blob(data=data).model_dump_json()
    assert json.loads(text) == {"data": base64.b64encode(data).decode()}
    for written in (base64.b64encode(data), base64.urlsafe_b64encode(data)):
        for form in (written.decode(), written.decode().rstrip("=")):
            assert Blob.model_validate_json(json.dumps({"data": form})).data == data
            assert Blob.model_validate({"data": form}).data == data
    assert Blob(data=data).data == data
    assert Blob(data=data).model_dump()["data"] == data


@pytest.mark.parametrize("text", ["a", "é", "a b=", "====a"])
def test_what_is_no_base64(text: str) -> None:
    """A text that is no base64 is refused with a reason."""
    with pytest.raises(ValidationError, match="not base64"):
        Blob.model_validate({"data": text})


@pytest.mark.parametrize(
    ("given_time", "milliseconds"),
    [
        (1_700_000_000_123, 1_700_000_000_123),
        (1_700_000_000_123.4, 1_700_000_000_123),
        (1_700_000_000.123, 1_700_000_000_123),
        (1_700_000_000.0, 1_700_000_000_000),
        (1_700_000_000, 1_700_000_000_000),
        (1001, 1001),
        (0, 0),
        (10**11, 10**11),
        (10**11 - 1, (10**11 - 1) * 1000),
        (10**9 - 1, 10**9 - 1),
        (-5, -5),
    ],
)
def test_times_are_milliseconds(given_time: float, milliseconds: int) -> None:
    """ADK Java's milliseconds are kept, ADK Python's seconds become milliseconds."""
    assert Event.model_validate_json(json.dumps({"timestamp": given_time})).timestamp == milliseconds
    assert EventCompaction.model_validate({"startTimestamp": given_time}).start_timestamp == milliseconds


def test_long_running_ids_are_sorted() -> None:
    """The ids of long-running calls are a set here, and a sorted list in JSON."""
    event = Event(long_running_tool_ids=frozenset({"b", "c", "a"}))
    assert dumped(event)["longRunningToolIds"] == ["a", "b", "c"]
    assert Event.model_validate({"longRunningToolIds": ["b", "a", "b"]}).long_running_tool_ids == frozenset("ab")
    assert event.model_dump()["long_running_tool_ids"] == frozenset("abc")


def test_compaction_holds_content() -> None:
    """A compaction's summary is a Content."""
    event = Event.model_validate(
        {
            "actions": {
                "compaction": {"startTimestamp": 1, "endTimestamp": 2, "compactedContent": {"parts": [{"text": "s"}]}}
            }
        }
    )
    assert event.actions.compaction == EventCompaction(
        start_timestamp=1, end_timestamp=2, compacted_content=Content(parts=(Part(text="s"),))
    )


TEXTS = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
MAPS = st.dictionaries(TEXTS, JSON, max_size=3)
SOME_TEXT = st.none() | TEXTS
SOME_FLAG = st.none() | st.booleans()
PARTS = st.one_of(
    st.builds(Part, text=SOME_TEXT, thought=SOME_FLAG),
    st.builds(Part, function_call=st.builds(FunctionCall, id=SOME_TEXT, name=SOME_TEXT, args=st.none() | MAPS)),
    st.builds(
        Part, function_response=st.builds(FunctionResponse, id=SOME_TEXT, name=SOME_TEXT, response=st.none() | MAPS)
    ),
    st.builds(Part, inline_data=st.builds(Blob, mime_type=SOME_TEXT, data=st.binary(max_size=8))),
)
ACTIONS = st.builds(
    EventActions,
    skip_summarization=SOME_FLAG,
    state_delta=MAPS,
    artifact_delta=st.dictionaries(TEXTS, st.integers(0, 9), max_size=2),
    transfer_to_agent=SOME_TEXT,
    escalate=SOME_FLAG,
    requested_tool_confirmations=st.dictionaries(
        TEXTS, st.builds(ToolConfirmation, hint=TEXTS, payload=JSON), max_size=2
    ),
    end_of_agent=SOME_FLAG,
    agent_state=st.none() | MAPS,
)
EVENTS = st.builds(
    Event,
    invocation_id=SOME_TEXT,
    author=SOME_TEXT,
    content=st.none() | st.builds(Content, role=SOME_TEXT, parts=st.none() | st.lists(PARTS, max_size=3).map(tuple)),
    actions=ACTIONS,
    long_running_tool_ids=st.none() | st.frozensets(TEXTS, max_size=3),
    partial=SOME_FLAG,
    branch=SOME_TEXT,
    custom_metadata=st.none() | MAPS,
)


@given(EVENTS)
def test_any_event_survives(event: Event) -> None:
    """What is written is read back as an equal event, by JSON text and by plain dicts, with either kind of keys."""
    assert Event.model_validate_json(event.model_dump_json(by_alias=True)) == event
    assert Event.model_validate_json(event.model_dump_json()) == event
    assert Event.model_validate(json.loads(event.model_dump_json(by_alias=True))) == event
    assert Event.model_validate(event.model_dump()) == event


def test_values_may_be_used_first_by_many_threads() -> None:
    """Validators are built at the first use, also when eight threads come at the same instant."""
    program = """
import sys, threading
sys.setswitchinterval(1e-6)
from rxagent.events import *
ready, good = threading.Barrier(8), []
def use():
    ready.wait(10)
    actions = EventActions(requested_tool_confirmations={"c": ToolConfirmation()})
    event = Event(content=Content.user("x"), actions=actions)
    good.append(Event.model_validate_json(event.model_dump_json(by_alias=True)) == event)
threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join(20)
print(good.count(True))
"""
    for _ in range(3):
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
        assert result.stdout.strip() == "8", result.stderr
