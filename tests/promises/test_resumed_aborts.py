"""Aborts of runs of a resumable app, and what a resume makes of them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from rxagent import RunConfig
from rxagent.agents import LoopAgent, ParallelAgent, SequentialAgent
from rxagent.events import Content
from rxagent.history.sealing import ABORTED
from rxagent.sessions import InMemorySessionService
from rxagent.streams import Single
from rxagent.streams.workers import workers
from rxagent.testing.scripted_model import ScriptedModel, call, pause
from rxagent.tools import FunctionTool
from tests.runner.driving import USER, log

from .pausing import ASK, Refunds, app_runner, llm, marks, run

SSE = RunConfig(streaming_mode="sse")


def aborted_at(runner: Any, mark: str, message: Any = "Go") -> Any:
    """Abort at the event with this mark; the outcome."""
    handle = runner.start(USER, "s", message, SSE)
    for event in handle:
        if marks([event]) == [mark]:
            handle.abort("user_stop")
    return handle.wait(10)


@pytest.mark.promise("A7")
def test_sealed_calls_are_not_replayed() -> None:
    """Aborted in a tool: a resume by id goes on from the seal, with the model."""
    entered, started = threading.Event(), list[int]()

    def stuck(tool_context: Any) -> Single[str]:
        """Work that does not end."""
        started.append(1)
        entered.set()
        return Single.create(lambda emitter: None)

    service = InMemorySessionService()
    runner = app_runner(llm("a", [call("stuck")], tools=[stuck]), service)
    handle = runner.start(USER, "s", "Go")
    assert entered.wait(5)
    handle.abort("user_stop")
    outcome = handle.wait(10)
    assert outcome is not None
    assert outcome.kind == "aborted"
    assert log(runner)[-1].error_code == ABORTED
    model = ScriptedModel(["Going on."])
    runner = app_runner(llm("a", model, tools=[stuck]), service)
    assert marks(run(runner, invocation_id=log(runner)[0].invocation_id)) == ["a: Going on.", "a end"]
    assert len(started) == 1


@pytest.mark.promise("A7")
@pytest.mark.parametrize("kind", ["llm", "sequential", "loop", "parallel"])
def test_a_cut_model_step_is_asked_again(kind: str) -> None:
    """Aborted in a model stream, at any depth: the resume asks that step again, and no other."""

    def tree(turn: list[Any], first: Any = ()) -> Any:
        b = llm("b", turn)
        if kind == "sequential":
            return SequentialAgent(name="flow", sub_agents=[llm("a", *first), b])
        if kind == "loop":
            return LoopAgent(name="flow", max_iterations=1, sub_agents=[llm("a", *first), b])
        if kind == "parallel":
            return ParallelAgent(name="flow", sub_agents=[b])
        return b

    service = InMemorySessionService()
    runner = app_runner(tree(["B ", pause(60)], (["A."],)), service)
    assert aborted_at(runner, "b: B ").kind == "aborted"
    runner = app_runner(tree(["B."]), service)
    resumed = marks(run(runner, invocation_id=log(runner)[0].invocation_id))
    assert resumed == ["b: B.", "b end", *(() if kind == "llm" else ("flow end",))]


@pytest.mark.promise("A6")
def test_a_run_that_was_final_has_its_end_marker() -> None:
    """An abort at the final text is none: the run completes, its end marker is written, a resume is empty."""
    runner = app_runner(llm("a", ["Said."]))
    assert aborted_at(runner, "a: Said.").kind == "completed"
    assert marks(log(runner)) == ["user: Go", "a: Said.", "a end"]
    assert run(runner, invocation_id=log(runner)[0].invocation_id) == []


def test_an_abort_while_an_approved_tool_runs() -> None:
    """It is sealed: the approval is used up, and a later message is answered."""
    entered = threading.Event()

    def stuck() -> Single[str]:
        """Work that does not end."""
        entered.set()
        return Single.create(lambda emitter: None)

    model = ScriptedModel([call("stuck")], ["Hello."])
    runner = app_runner(llm("a", model, tools=[FunctionTool(stuck, require_confirmation=True)]))
    run(runner, "Go")
    [question] = runner.pending(USER, "s")
    handle = runner.start(USER, "s", question.approve())
    assert entered.wait(5)
    handle.abort("user_stop")
    outcome = handle.wait(10)
    assert outcome is not None
    assert (outcome.kind, outcome.calls_sealed) == ("aborted", 1)
    assert run(runner, question.approve()) == []
    assert marks(run(runner, "Hi"))[0] == "a: Hello."


def test_an_abort_at_a_question() -> None:
    """The question stays open: it is a designed pause, and an approval goes on with the invocation."""
    refunds = Refunds()
    runner = app_runner(llm("a", [call("refund", order=1)], ["Done."], tools=[refunds.tool()]))
    aborted_at(runner, "a: call(adk_request_confirmation)")
    [question] = runner.pending(USER, "s")
    assert marks(run(runner, question.approve())) == ["a: response(refund)", "a: Done.", "a end"]
    assert len(refunds.done) == 1


@pytest.mark.promise("A4")
def test_an_approved_call_beside_a_later_one() -> None:
    """Seals stand in the order of the calls: that of an approved one before that of a call which its run has made."""
    both = threading.Barrier(3)

    def risky() -> Single[str]:
        """Work that does not end."""
        return Single.create(lambda emitter: workers.spawn(lambda: both.wait(5)))

    def work() -> Single[str]:
        """Work that does not end, either."""
        return risky()

    one = llm("one", [call("risky")], tools=[FunctionTool(risky, require_confirmation=True)])
    two = llm("two", [call("ask", question="?")], [call("work")], tools=[ASK, work])
    runner = app_runner(ParallelAgent(name="both", sub_agents=[one, two]))
    run(runner, "Go")
    approval, owed = sorted(runner.pending(USER, "s"), key=lambda question: question.author or "")
    parts = (*(approval.approve().parts or ()), *(owed.answer({}).parts or ()))
    handle = runner.start(USER, "s", Content(role="user", parts=parts))
    both.wait(5)
    handle.abort()
    assert handle.wait(10) is not None
    assert marks(log(runner))[-2:] == ["one: response(risky)", "two: response(work)"]
