"""The events of a run in AG-UI's words."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent import App, FunctionTool, LlmAgent, ResumabilityConfig, Runner
from rxagent.events.state import REMOVED
from rxagent.serve.agui_stream import AguiStream
from rxagent.testing import ScriptedModel, call

CANCELLED = {"kind": "aborted", "reason": "user_stop"}


def stream(*, modern: bool = True, state: dict[str, Any] | None = None) -> AguiStream:
    return AguiStream("t1", "r1", "root", modern=modern, state=state or {})


def said(text: str, author: str = "root", number: int = 1, **more: Any) -> dict[str, Any]:
    return {"id": f"e{number}", "author": author, "content": {"parts": [{"text": text}]}, **more}


def types(events: list[Any]) -> list[str]:
    return [event.type.value for event in events]


def test_the_ends_of_a_run() -> None:
    """Completed is success, aborted and disposed are cancelled, failed is an error; ids are the client's."""
    for kind in ("completed", "aborted", "disposed"):
        (last,) = stream().end({"kind": kind}, [])
        assert (last.thread_id, last.run_id) == ("t1", "r1")  # type: ignore[attr-defined]
        expected = "success" if kind == "completed" else "cancelled"
        assert last.outcome.type == expected  # type: ignore[attr-defined]
    (last,) = stream().end({"kind": "failed", "error": "ModelError: no"}, [])
    assert (last.type.value, last.message) == ("RUN_ERROR", "ModelError: no")  # type: ignore[attr-defined]


def test_why_a_run_was_cancelled_stands_beside_the_outcome() -> None:
    """The outcome has no field for it."""
    (last,) = stream().end(CANCELLED, [])
    assert last.metadata == {"rxagent": {"outcome": CANCELLED}}


def test_an_older_client_gets_no_outcome_that_it_refuses() -> None:
    """A plain end, and a CUSTOM event with the outcome; no subagents either."""
    old = stream(modern=False)
    assert "protocolVersion" not in old.begin("ours")[0].model_dump_json(by_alias=True)
    assert "SUBAGENT_STARTED" not in types(old.event(said("Hi", "other")))
    custom, last = old.end(CANCELLED, [])
    assert (custom.name, custom.value) == ("rxagent.outcome", CANCELLED)  # type: ignore[attr-defined]
    assert "outcome" not in last.model_dump_json(by_alias=True)


def test_everything_is_closed_before_the_end() -> None:
    """An open text, and the subagent that says it; the text is named as not saved."""
    one = stream()
    one.event(said("Once", "teller", partial=True))
    events = one.end(CANCELLED, [])
    assert types(events) == ["TEXT_MESSAGE_END", "SUBAGENT_ERROR", "CUSTOM", "RUN_FINISHED"]
    assert events[2].value == {"messageIds": [events[0].message_id]}  # type: ignore[attr-defined]


def test_subagents_follow_one_another() -> None:
    """The next agent in the same place ends the one before it; one in another branch does not."""
    one = stream()
    assert types(one.event(said("a", "first")))[0] == "SUBAGENT_STARTED"
    assert types(one.event(said("b", "second", 2)))[:2] == ["SUBAGENT_FINISHED", "SUBAGENT_STARTED"]
    assert types(one.event(said("c", "third", 3, branch="x")))[0] == "SUBAGENT_STARTED"
    assert types(one.event(said("d", "root", 4)))[0] == "SUBAGENT_FINISHED"
    assert types(one.end({"kind": "completed"}, [])) == ["SUBAGENT_FINISHED", "RUN_FINISHED"]


def test_calls_and_their_results() -> None:
    """A call is begun, told and ended at once; a provisional result is none."""
    one = stream()
    made = {"id": "c1", "name": "look", "args": {"city": "Oslo"}}
    events = one.event(
        {"id": "e1", "author": "root", "content": {"parts": [{"text": "Well."}, {"functionCall": made}]}}
    )
    assert types(events)[-3:] == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]
    assert events[-3].parent_message_id == events[0].message_id == "e1"  # type: ignore[attr-defined]
    assert events[-2].delta == '{"city": "Oslo"}'  # type: ignore[attr-defined]
    response = {"parts": [{"functionResponse": {"id": "c1", "name": "look", "response": {"far": True}}}]}
    asks: dict[str, Any] = {"requestedToolConfirmations": {"c1": {}}}
    assert stream().event({"id": "e2", "author": "root", "content": response, "actions": asks}) == []
    (result,) = one.event({"id": "e2", "author": "root", "content": response})
    assert (result.tool_call_id, result.content) == ("c1", '{"far": true}')  # type: ignore[attr-defined]


def test_open_calls_of_the_clients_tools_are_named() -> None:
    """In the order of the calls, without those that have a result; an older client gets the plain success."""
    for modern, pending in ((True, ["c1", "c3"]), (False, None)):
        one = AguiStream("t1", "r1", "root", modern=modern, state={}, client_tools=["paint"])
        calls = [{"functionCall": {"id": f"c{number}", "name": "paint"}} for number in (1, 2, 3)]
        one.event({"id": "e1", "author": "root", "content": {"parts": calls}})
        response = {"functionResponse": {"id": "c2", "name": "paint", "response": {}}}
        one.event({"id": "e2", "author": "root", "content": {"parts": [response]}})
        (last,) = one.end({"kind": "paused"}, [])
        assert last.outcome.type == "success"  # type: ignore[attr-defined]
        assert last.outcome.pending_tool_call_ids == pending  # type: ignore[attr-defined]


def test_what_a_tool_reports_is_shown() -> None:
    """As a CUSTOM event, in its place."""
    told = {"tool_progress": {"id": "c1", "name": "look", "text": "half of it"}}
    (event,) = stream().event({"id": "e1", "author": "root", "partial": True, "customMetadata": told})
    assert (event.type, event.name) == ("CUSTOM", "rxagent.tool_progress")  # type: ignore[attr-defined]
    assert event.value == {"toolCallId": "c1", "toolCallName": "look", "text": "half of it"}  # type: ignore[attr-defined]


def test_changes_of_the_state_are_a_patch() -> None:
    """Set, replaced and removed keys; what is temporary, and what was never there, is left out."""
    one = stream(state={"old": 1})
    delta = {"a/b": None, "old": REMOVED, "gone": REMOVED, "temp:x": 1}
    (event,) = one.event({"id": "e1", "author": "root", "actions": {"stateDelta": delta}})
    patch = event.model_dump(by_alias=True, exclude_unset=True)["delta"]
    assert patch == [{"op": "add", "path": "/a~1b", "value": None}, {"op": "remove", "path": "/old"}]
    assert one.state == {"a/b": None}


def refund(order: int) -> str:
    """Refund."""
    return "done"


@pytest.mark.parametrize("modern", [True, False])
def test_a_pause_is_an_interrupt(modern: bool) -> None:
    """One for each open question, with the call that it is about, and the shape of its answer."""
    agent = LlmAgent(
        name="root",
        model=ScriptedModel(call.with_id("c1", "refund", order=7)),
        tools=[FunctionTool(refund, require_confirmation=True)],
    )
    one = stream(modern=modern)
    app = App("app", root_agent=agent, resumability_config=ResumabilityConfig(resumable=True))
    with Runner(app=app) as runner:
        events = list(runner.run("me", "s1", "Refund"))
        for event in events:
            one.event(event.model_dump(mode="json", by_alias=True))
        last = one.end({"kind": "paused"}, runner.pending("me", "s1"))[-1]
    (interrupt,) = last.outcome.interrupts  # type: ignore[attr-defined]
    assert interrupt.tool_call_id == events[0].function_calls[0].id
    assert interrupt.reason == "confirmation"
    assert interrupt.response_schema["required"] == ["confirmed"]
    assert interrupt.metadata["args"] == {"order": 7}
