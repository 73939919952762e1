"""What users met with other runtimes' stores: summaries beside new turns, stale state, empty answers, orphans."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rxagent import App, Content, Event, LlmAgent, Runner, SqliteSessionService
from rxagent.events import EventActions
from rxagent.invocation import EventsCompactionConfig, RunConfig
from rxagent.models import LlmResponse
from rxagent.sessions import BaseSessionService, InMemorySessionService, Session
from rxagent.testing import ScriptedModel, call

SSE = RunConfig(streaming_mode="sse")


@pytest.fixture(params=["memory", "sqlite"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseSessionService]:
    found = InMemorySessionService() if request.param == "memory" else SqliteSessionService(tmp_path / "chat.db")
    yield found
    found.close()


def compacting(model: ScriptedModel, service: BaseSessionService, **options: Any) -> Runner:
    agent = LlmAgent(name="support", model=model, tools=options.pop("tools", []))
    app = App("app", agent, events_compaction_config=EventsCompactionConfig(**options))
    return Runner(app=app, session_service=service)


def stored(service: BaseSessionService) -> Session:
    session = service.get_session("app", "me", "s1")
    assert isinstance(session, Session)
    return session


def summaries(session: Session) -> list[int]:
    return [at for at, event in enumerate(session.events) if event.actions.compaction is not None]


def test_a_turn_right_behind_a_summary(service: BaseSessionService) -> None:
    """A turn that is sent while the summary of the one before is made works; the summary stands between the two."""
    model = ScriptedModel("Hello.", "A summary.", repeat_last=True)
    with compacting(model, service, compaction_interval=1, overlap_size=0) as runner:
        first = runner.start("me", "s1", "One")
        second = runner.start("me", "s1", "Two")
        assert [run.wait(10).kind for run in (first, second)] == ["completed", "completed"]  # type: ignore[union-attr]
    session = stored(service)
    runs = [event.invocation_id for event in session.events if event.actions.compaction is None]
    assert runs == [first.invocation_id] * 2 + [second.invocation_id] * 2
    assert summaries(session) == [2, 5]


def test_state_of_the_app_is_read_anew(service: BaseSessionService) -> None:
    """What another session changes in the app's or user's state is seen by one that was created before."""
    one = service.create_session("app", "me", session_id="s1")
    other = service.create_session("app", "me", session_id="s2")
    assert isinstance(one, Session)
    assert isinstance(other, Session)
    delta = {"app:counter": 1, "user:name": "Ada"}
    service.append_event(other, Event(author="user", actions=EventActions(state_delta=delta)))
    assert stored(service).state == delta


def test_what_was_stored_is_the_stores_own(service: BaseSessionService) -> None:
    """Changing a delta after its append changes nothing; iterating a log while others append works."""
    service.create_session("app", "me", session_id="s1")
    session = stored(service)
    delta = {"a": {"x": 1}}
    service.append_event(session, Event(author="user", actions=EventActions(state_delta=delta)))
    delta["a"]["x"] = 2
    delta["b"] = {}
    for _ in session.events[:]:
        service.append_event(session, Event(author="user"))
    assert stored(service).state == {"a": {"x": 1}}
    assert stored(service).events[0].actions.state_delta == {"a": {"x": 1}}


def test_maps_in_the_state_are_replaced(service: BaseSessionService) -> None:
    """A delta replaces a value, None is a value, and a reload shows the same."""
    service.create_session("app", "me", session_id="s1")
    session = stored(service)
    for delta in ({"a": {"x": 1}, "b": 1}, {"a": {"y": 2}}, {"b": None}):
        service.append_event(session, Event(author="user", actions=EventActions(state_delta=delta)))
    assert session.state == stored(service).state == {"a": {"y": 2}, "b": None}


def test_partials_and_an_empty_final_one(service: BaseSessionService) -> None:
    """The stored answer is the whole text, not the empty end of the stream."""
    pieces = [LlmResponse(content=Content.model(word), partial=True) for word in ("It ", "is ", "21 ", "degrees.")]
    model = ScriptedModel([*pieces, LlmResponse(content=Content(role="model"), finish_reason="STOP")])
    with Runner(LlmAgent(name="support", model=model), app_name="app", session_service=service) as runner:
        list(runner.run("me", "s1", "Hi", SSE))
    assert [event.text for event in stored(service).events] == ["Hi", "It is 21 degrees."]


def test_an_orphan_does_not_stop_the_summaries(service: BaseSessionService) -> None:
    """A call at the head of the log that nobody will answer is sealed by the next run; summaries go on behind it."""
    begun = threading.Event()

    async def never() -> None:
        """Wait."""
        begun.set()
        await asyncio.sleep(60)

    model = ScriptedModel(call("never"), "Hello.", repeat_last=True)
    with compacting(model, service, compaction_interval=5, overlap_size=1, tools=[never]) as runner:
        with runner.start("me", "s1", "One") as run:
            assert begun.wait(5)
            run.dispose()
        for number in range(100):
            list(runner.run("me", "s1", f"Turn {number}"))
    session = stored(service)
    assert len(summaries(session)) == 20
    calls = [one.id for event in session.events for one in event.function_calls]
    responses = [one.id for event in session.events for one in event.function_responses]
    assert calls == responses
    assert len(calls) == 1
