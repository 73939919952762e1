"""Where a run of a resumable app pauses, what it marks, and how several open calls are answered. J26, J27, J37."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.agents import LoopAgent, ParallelAgent, SequentialAgent
from rxagent.sessions import InMemorySessionService
from rxagent.testing.scripted_model import ScriptedModel, call
from rxagent.tools import LongRunningFunctionTool
from tests.runner.driving import USER, Ends, log

from .pausing import ASK, Refunds, answer, app_runner, llm, marks, run, stored

ASKS = [call("ask", question="?")]


def interim(question: str) -> dict[str, str]:
    """Ask a human, and say so."""
    return {"status": "asked"}


def last_id(runner: Any, name: str = "ask") -> str:
    [*_, found] = [one.id for event in log(runner) for one in event.function_calls if one.name == name]
    return str(found)


@pytest.mark.promise("J26")
def test_an_open_call_pauses() -> None:
    """A run ends behind an unanswered long-running call: completed stream, after-run, outcome paused, no end marker."""
    ends = Ends()
    runner = app_runner(llm("a", ASKS, ["Done."], tools=[ASK]), plugins=[ends])
    assert marks(run(runner, "Go")) == ["a: call(ask)"]
    assert (ends.next().kind, len(ends.after_run)) == ("paused", 1)
    assert marks(run(runner, answer(last_id(runner), {"yes": True}))) == ["a: Done.", "a end"]
    assert (ends.next().kind, len(ends.after_run)) == ("completed", 2)
    assert len({event.invocation_id for event in log(runner)}) == 1


@pytest.mark.promise("J26")
@pytest.mark.parametrize("resumable", [True, False])
def test_an_interim_value_does_not_answer(resumable: bool) -> None:
    """The model sees the value and goes on; the outcome is paused in any app; no end marker, no next sub-agent."""
    ends = Ends()
    b = llm("b", [call("interim", question="?")], ["B waits."], ["B done."], tools=[LongRunningFunctionTool(interim)])
    flow = SequentialAgent(name="flow", sub_agents=[llm("a", ["A."]), b, llm("c", ["C."])])
    runner = app_runner(flow, resumable=resumable, plugins=[ends])
    first = marks(run(runner, "Go"))
    assert ends.next().kind == "paused"
    if not resumable:
        assert first[-2:] == ["b: B waits.", "c: C."]
        return
    assert first == [
        "flow -> a",
        "a: A.",
        "a end",
        "flow -> b",
        "b: call(interim)",
        "b: response(interim)",
        "b: B waits.",
    ]
    second = marks(run(runner, answer(last_id(runner, "interim"), {"yes": True}, name="interim")))
    assert second == ["b: B done.", "b end", "flow -> c", "c: C.", "c end", "flow end"]
    assert ends.next().kind == "completed"


@pytest.mark.promise("J26")
def test_an_error_result_answers() -> None:
    """A long-running tool that fails has answered: nothing is owed, the run completes with its end marker."""
    ends = Ends()

    def broken(question: str) -> None:
        """Ask."""
        raise ValueError("no line")

    runner = app_runner(
        llm("a", [call("broken", question="?")], ["Sorry."], tools=[LongRunningFunctionTool(broken)]), plugins=[ends]
    )
    assert marks(run(runner, "Go")) == ["a: call(broken)", "a: response(broken)", "a: Sorry.", "a end"]
    assert ends.next().kind == "completed"
    assert runner.pending(USER, "s") == []


@pytest.mark.promise("J27")
def test_wire_keys() -> None:
    """Checkpoints are events without content; their keys are current_sub_agent and times_looped."""
    loop = LoopAgent(name="loop", max_iterations=2, sub_agents=[llm("a", ["1"], ["2"])])
    runner = app_runner(loop)
    run(runner, "Go")
    events = [event for event in log(runner) if event.content is None]
    assert [event.actions.agent_state for event in events if event.actions.agent_state is not None] == [
        {"current_sub_agent": "a", "times_looped": 0},
        {"current_sub_agent": "a", "times_looped": 1},
    ]
    wire = events[0].model_dump(by_alias=True)["actions"]
    assert wire["agentState"] == {"current_sub_agent": "a", "times_looped": 0}
    assert [event.author for event in events if event.actions.end_of_agent] == ["a", "a", "loop"]


@pytest.mark.promise("J27")
def test_the_end_of_a_transfer() -> None:
    """The sub-agent's end marker comes first, then that of the agent that transferred."""
    pet = llm("pet", ["Woof."])
    kid = llm("kid", [call("transfer_to_agent", agent_name="pet")], sub_agents=[pet])
    runner = app_runner(llm("root", [call("transfer_to_agent", agent_name="kid")], sub_agents=[kid]))
    assert marks(run(runner, "Go"))[-4:] == ["pet: Woof.", "pet end", "kid end", "root end"]


@pytest.mark.promise("J27")
def test_a_pause_deep_in_transfers() -> None:
    """The agent that paused goes on, below those that had handed over; each marks its end, from the inside."""
    pet = llm("pet", ASKS, ["Woof."], tools=[ASK])
    kid = llm("kid", [call("transfer_to_agent", agent_name="pet")], sub_agents=[pet])
    root = llm("root", [call("transfer_to_agent", agent_name="kid")], sub_agents=[kid])
    runner = app_runner(SequentialAgent(name="flow", sub_agents=[root, llm("next", ["Next."])]))
    assert not [mark for mark in marks(run(runner, "Go")) if mark.endswith("end")]
    second = marks(run(runner, answer(last_id(runner), {})))
    assert second[:4] == ["pet: Woof.", "pet end", "kid end", "root end"]
    assert second[4:] == ["flow -> next", "next: Next.", "next end", "flow end"]


@pytest.mark.promise("J37")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_answers_in_any_order(order: tuple[int, int]) -> None:
    """Two open calls are answered in any order; after one of two the run stays paused, silently."""
    model = ScriptedModel([call("ask", question="a?"), call("ask", question="b?")], ["Both known."])
    runner = app_runner(llm("a", model, tools=[ASK]))
    [event] = run(runner, "Go")
    ids = [one.id or "" for one in event.function_calls]
    assert run(runner, answer(ids[order[0]], {"n": 1})) == []
    assert [question.call_id for question in runner.pending(USER, "s")] == [ids[order[1]]]
    assert marks(run(runner, answer(ids[order[1]], {"n": 2}))) == ["a: Both known.", "a end"]
    given = {part.function_response.id for part in model.requests[1].contents[-1].parts or () if part.function_response}
    assert given == set(ids)


@pytest.mark.promise("J37")
def test_approving_one_of_two() -> None:
    """Approving one of two runs that tool at once, marks no end, asks no model; the other decision ends the wait."""
    refunds = Refunds()
    model = ScriptedModel([call("refund", order=1), call("refund", order=2)], ["Settled."])
    runner = app_runner(llm("a", model, tools=[refunds.tool()]))
    run(runner, "Go")
    first, second = runner.pending(USER, "s")
    assert marks(run(runner, second.approve())) == ["a: response(refund)"]
    assert ([order for _, order in refunds.done], len(model.calls)) == ([2], 1)
    assert marks(run(runner, first.reject())) == ["a: response(refund)", "a: Settled.", "a end"]
    assert [order for _, order in refunds.done] == [2]


@pytest.mark.promise("J37")
def test_branches_wait_each_for_its_own() -> None:
    """Two branches pause; an answer runs its branch alone, and the sequence goes on when both are done."""
    both = ParallelAgent(
        name="both", sub_agents=[llm("a", ASKS, ["A."], tools=[ASK]), llm("b", ASKS, ["B."], tools=[ASK])]
    )
    runner = app_runner(SequentialAgent(name="flow", sub_agents=[both, llm("c", ["C."])]), InMemorySessionService())
    run(runner, "Go")
    questions = {question.author: question for question in runner.pending(USER, "s")}
    assert marks(run(runner, questions["b"].answer({"ok": 1}))) == ["b: B.", "b end"]
    rest = marks(run(runner, questions["a"].answer({"ok": 1})))
    assert rest == ["a: A.", "a end", "both end", "flow -> c", "c: C.", "c end", "flow end"]
    assert stored(runner).count("a end") == 1


def plain() -> str:
    """Answer at once."""
    return "ok"


@pytest.mark.promise("J26")
@pytest.mark.promise("J27")
@pytest.mark.parametrize("kind", ["agent", "workflow"])
def test_who_handed_over_waits_too(kind: str) -> None:
    """While an agent that has taken over waits for an answer, though a later event of its own is another call's
    response, the one before it asks its model nothing; when the answer comes both go on."""
    kid = llm("kid", [*ASKS, call("plain")], ["Kid."], tools=[ASK, plain])
    taking_over = kid if kind == "agent" else SequentialAgent(name="flow", sub_agents=[kid])
    root = ScriptedModel([call("transfer_to_agent", agent_name=taking_over.name)], ["Never."])
    runner = app_runner(llm("root", root, sub_agents=[taking_over]))
    assert marks(run(runner, "Go"))[-1] == "kid: response(plain)"
    assert [one.author for one in runner.pending(USER, "s")] == ["kid"]
    rest = marks(run(runner, answer(last_id(runner), {"yes": True})))
    assert rest == ["kid: Kid.", "kid end", *(["flow end"] if kind == "workflow" else []), "root end"]
    assert len(root.calls) == 1


@pytest.mark.promise("J26")
@pytest.mark.promise("J37")
def test_one_of_two_interim_values_is_replaced() -> None:
    """The model goes on with the answer; the other call still owes its own, so that the agent marks no end yet."""

    def hold(request: str) -> str:
        """Say something meanwhile."""
        return "waiting"

    calls = [call("hold", request="1"), call("hold", request="2")]
    runner = app_runner(llm("a", calls, ["Both."], ["One."], ["None."], tools=[LongRunningFunctionTool(hold)]))
    assert marks(run(runner, "Go"))[-1] == "a: Both."
    first, second = runner.pending(USER, "s")
    assert marks(run(runner, first.answer({"n": 1}))) == ["a: One."]
    assert [one.call_id for one in runner.pending(USER, "s")] == [second.call_id]
    assert marks(run(runner, second.answer({"n": 2}))) == ["a: None.", "a end"]
