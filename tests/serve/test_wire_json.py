"""ADK's JSON on the wire."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from rxagent import Event, Session
from rxagent.events import Content, EventActions, EventCompaction
from rxagent.invocation import Outcome, Usage
from rxagent.serve.wire_json import dumps, event_json, outcome_json, session_json


class Strict(BaseModel):
    """As ADK Python's models: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class Actions(Strict):
    """The fields of ADK Python's EventActions that are written here."""

    state_delta: dict[str, object]
    artifact_delta: dict[str, int]
    requested_auth_configs: dict[str, object]
    requested_tool_confirmations: dict[str, object]
    compaction: dict[str, object] | None = None


def test_events_are_those_of_adk_python() -> None:
    """Seconds instead of milliseconds, no key that its models refuse, and no sequence number."""
    summary = EventCompaction(start_timestamp=1_700_000_000_000, end_timestamp=1_700_000_001_500)
    event = Event(author="a", timestamp=1_700_000_000_250, seq=3, actions=EventActions(compaction=summary))
    fields = event_json(event)
    assert fields["timestamp"] == 1_700_000_000.25
    assert "seq" not in fields
    actions = Actions.model_validate(fields["actions"])
    assert actions.compaction == {"startTimestamp": 1_700_000_000.0, "endTimestamp": 1_700_000_001.5}
    assert Event.model_validate(fields).timestamp == event.timestamp


def test_a_session_is_listed_without_its_events() -> None:
    """The list of sessions leaves them out; the state is there."""
    session = Session("app", "me", "s1", state={"a": 1}, events=[Event(author="a")], last_update_time=1_500)
    assert len(session_json(session)["events"]) == 1
    short = session_json(session, events=False)
    assert (short["events"], short["state"], short["lastUpdateTime"]) == ([], {"a": 1}, 1.5)


def test_an_outcome_says_what_there_is() -> None:
    """Absent fields are left out; an error is its kind and its words."""
    fields = outcome_json(Outcome("failed", Usage(), "ValueError", ValueError("broken")))
    assert (fields["kind"], fields["error"]) == ("failed", "ValueError: broken")
    assert "error" not in outcome_json(Outcome("completed", Usage()))


@pytest.mark.parametrize("text", ["two\nlines\r", "\u2028 line separator", "grün 🙂", "\ud800"])
def test_json_has_no_line_breaks(text: str) -> None:
    """A frame is one line of data, whatever is in it; half a character does not break it."""
    data = dumps(event_json(Event(author="a", content=Content.model(text))) if text != "\ud800" else {"text": text})
    assert b"\n" not in data
    assert b"\r" not in data
    json.loads(data)
