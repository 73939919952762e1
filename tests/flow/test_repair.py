"""Whatever became of a log, a model's request is well formed, and the next turn works."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rxagent.agents import BaseAgent, LlmAgent
from rxagent.events import Content, Event, Part
from rxagent.events.pairing import Pairing
from rxagent.flow.repair import REQUEST_REPAIRED, repair_event
from rxagent.history.contents import History, build_contents
from rxagent.runner import Runner
from rxagent.sessions import InMemorySessionService
from rxagent.testing.invariants import request_faults
from rxagent.testing.scripted_model import ScriptedModel, call
from rxagent.tools import LongRunningFunctionTool
from tests.history.logs import call as called
from tests.history.logs import calls, responds, response, user
from tests.history.logs import said as says
from tests.runner.driving import APP, USER, log, put, runner_of, said
from tests.testing.scenarios import plain
from tests.testing.test_everywhere_agents import KINDS


def paused() -> BaseAgent:
    ask = LongRunningFunctionTool(lambda: None, name="ask")
    model = ScriptedModel([call("ask"), call("plain", step=1, part="a")], "Asked.")
    return LlmAgent(name="root", model=model, tools=[ask, plain])


@cache
def recorded(kind: str) -> tuple[tuple[Event, ...], tuple[str, ...]]:
    """The log of two turns with such an agent, and the names of its agents."""
    make = paused if kind == "paused" else KINDS[kind][0]
    service = InMemorySessionService()
    for _ in range(2):
        root = make()
        list(Runner(root, app_name=APP, session_service=service).run(USER, "s", "Go"))
    session: Any = service.get_session(APP, USER, "s")
    return tuple(session.events), (root.name, *(agent.name for agent in root.sub_agents))


RECORDED = [*KINDS, "paused"]


def is_well_formed(events: Sequence[Event], names: Sequence[str]) -> None:
    """The request of each agent, on each branch, whole and of the current turn alone."""
    branches = {event.branch for event in events} | {None}
    for name in names:
        for branch in branches:
            for include in ("default", "none"):
                contents = build_contents(events, agent_name=name, branch=branch, include=include)
                assert list(request_faults(contents)) == []


def takes_a_turn(events: Sequence[Event], names: Sequence[str]) -> None:
    """A plain message on a session that holds these events."""
    model = ScriptedModel(["Back."])
    agent = LlmAgent(name=names[0], model=model, tools=[plain])
    runner = Runner(agent, app_name=APP)
    put(runner, *(event.model_copy(update={"seq": None}) for event in events))
    assert said(runner.run(USER, "s", "Go on"))[-1] == f"{names[0]}: Back."
    assert [list(request_faults(request.contents)) for request in model.requests] == [[]]


@pytest.mark.parametrize("kind", RECORDED)
def test_cut_anywhere(kind: str) -> None:
    """Every prefix of a recorded log gives well-formed requests, and takes the next turn."""
    events, names = recorded(kind)
    for length in range(len(events) + 1):
        is_well_formed(events[:length], names)
        takes_a_turn(events[:length], names)


@pytest.mark.parametrize("kind", RECORDED)
def test_without_any_one_event(kind: str) -> None:
    """The same without any one of its events: a call, or a response, that is missing."""
    events, names = recorded(kind)
    for missing in range(len(events)):
        left = [*events[:missing], *events[missing + 1 :]]
        is_well_formed(left, names)
        takes_a_turn(left, names)


def with_call_id(event: Event, old: str, new: str) -> Event:
    """The event with another id in its calls and responses."""

    def changed(part: Part) -> Part:
        for name in ("function_call", "function_response"):
            value = getattr(part, name)
            if value is not None and value.id == old:
                return part.model_copy(update={name: value.model_copy(update={"id": new})})
        return part

    if event.content is None:
        return event
    pauses = event.long_running_tool_ids
    content = event.content.model_copy(update={"parts": tuple(map(changed, event.parts))})
    update: dict[str, Any] = {"content": content}
    if pauses is not None and old in pauses:
        update["long_running_tool_ids"] = frozenset(new if one == old else one for one in pauses)
    return event.model_copy(update=update)


@pytest.mark.parametrize("kind", RECORDED)
def test_any_id_repeated(kind: str) -> None:
    """The same when the id of any call is that of any other one, as servers do that number their calls."""
    events, names = recorded(kind)
    ids = [one.id for event in events for one in event.function_calls if one.id]
    for new in ids[:2]:
        for old in ids:
            renamed = [with_call_id(event, old, new) for event in events]
            is_well_formed(renamed, names)
            takes_a_turn(renamed, names)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_several_faults_at_once(data: st.DataObject) -> None:
    """Cut, with events missing, doubled or out of their order, and ids repeated, all at once: still well formed."""
    events, names = recorded(data.draw(st.sampled_from(RECORDED)))
    left = list(events[: data.draw(st.integers(0, len(events)))])
    for _ in range(data.draw(st.integers(0, 3))):
        if len(left) < 2:
            break
        at, other = data.draw(st.integers(0, len(left) - 1)), data.draw(st.integers(0, len(left) - 1))
        what = data.draw(st.sampled_from(["missing", "doubled", "swapped", "renamed"]))
        if what == "missing":
            del left[at]
        elif what == "doubled":
            left.insert(other, left[at].model_copy(update={"id": f"again {len(left)}"}))
        elif what == "swapped":
            left[at], left[other] = left[other], left[at]
        else:
            ids = [one.id for event in left for one in event.function_calls if one.id]
            if ids:
                old, new = data.draw(st.sampled_from(ids)), data.draw(st.sampled_from(ids))
                left = [with_call_id(event, old, new) for event in left]
    is_well_formed(left, names)


def test_a_history_that_grows() -> None:
    """A history that is asked at every step gives what a fresh one gives: a late response replaces the made-up one."""
    events = [
        user("Hi"),
        calls("a", called("c1", "t"), called("c2", "t")),
        says("a", "Meanwhile."),
        responds("a", response("c1", "t", r=1)),
        user("More"),
        responds("a", response("c2", "t", r=2)),
        says("a", "Done."),
    ]
    history = History("a")
    for length in range(len(events) + 1):
        history.follow(events[:length])
        assert history.contents() == build_contents(events[:length], agent_name="a")
        assert list(request_faults(history.contents())) == []


def test_a_repair_is_told_once() -> None:
    """A request that had to be repaired is told by an event without content, once for each call; the run goes on."""
    model = ScriptedModel([call("plain", step=1, part="a")], ["Back."])
    runner = runner_of(model, tools=[plain])
    opened = Event(invocation_id="e-1", author="agent", content=Content(role="model", parts=(call("t"),)))
    service: Any = runner.session_service
    append_events, sealed = service.append_events, []

    def without_seals(session: Any, events: Any, **options: Any) -> Any:
        """A store whose seals get lost."""
        kept = [event for event in events if not (event.custom_metadata or {}).get("sealed")]
        sealed.append(len(events) - len(kept))
        return append_events(session, kept, **options)

    put(runner, opened)
    service.append_events = without_seals
    events = list(runner.run(USER, "s", "Go on"))
    warnings = [event for event in events if (event.custom_metadata or {}).get("warning") == REQUEST_REPAIRED]
    assert len(warnings) == 1
    assert (warnings[0].content, (warnings[0].custom_metadata or {})["calls"][0]["name"]) == (None, "t")
    assert [list(request_faults(request.contents)) for request in model.requests] == [[], []]
    assert events[-1].text == "Back."
    assert sum(sealed) == 1
    assert [event.id for event in log(runner) if event.custom_metadata] == [warnings[0].id]


def test_what_is_told_of_a_repair() -> None:
    """The event is one of the agent that asks, on its branch, in its run; it names the calls in words, and by id."""
    [lost, other] = Pairing([calls("b", called("c1", "t"), called("c2", "u"))]).calls
    context: Any = SimpleNamespace(invocation_id="e-2", agent=SimpleNamespace(name="a"), branch="both.a")
    event = repair_event(context, [lost, other])
    assert (event.invocation_id, event.author, event.branch, event.content) == ("e-2", "a", "both.a", None)
    assert event.custom_metadata == {
        "warning": "REQUEST_REPAIRED",
        "message": "The log has no response for t (c1), u (c2); the model was told that it is not known what they did.",
        "calls": [{"id": "c1", "name": "t"}, {"id": "c2", "name": "u"}],
    }


def test_nothing_to_tell_of_a_sound_log() -> None:
    """A log in which every call is answered, or pauses by design, tells of no repair."""
    for kind in RECORDED:
        events, names = recorded(kind)
        assert not [event for event in events if (event.custom_metadata or {}).get("warning")]
        history = History(names[0])
        history.extend(events)
        assert history.newly_repaired() == []


def test_a_response_under_another_name() -> None:
    """A response that has its call's id and another name is sent under the call's."""
    events = [user("Hi"), calls("a", called("c1", "t")), responds("a", response("c1", "else", r=1))]
    is_well_formed(events, ["a"])
    parts = build_contents(events, agent_name="a")[2].parts
    assert parts is not None
    [answer] = parts
    assert answer.function_response is not None
    assert (answer.function_response.name, answer.function_response.response) == ("t", {"r": 1})
