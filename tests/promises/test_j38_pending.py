"""Open questions: what requests say of them, where they are listed, and confirmations as a whole. J38."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rxagent.agents import ParallelAgent, SequentialAgent
from rxagent.errors import SessionNotFoundError, UsageError
from rxagent.events import Content, Event, FunctionCall, Part, ToolConfirmation
from rxagent.events.confirmation import confirmation_call
from rxagent.history.rearrange import STILL_PENDING
from rxagent.sessions import SqliteSessionService
from rxagent.streams import Single
from rxagent.testing.invariants import request_faults
from rxagent.testing.scripted_model import ScriptedModel, call
from rxagent.tools import FunctionTool, LongRunningFunctionTool, exit_loop
from tests.runner.driving import USER, Ends, log, put, said

from .pausing import ASK, Refunds, answer, app_runner, llm, marks, run

ASKS = [call("ask", question="?")]


def responses(contents: Any) -> list[Any]:
    found = [part.function_response for content in contents for part in content.parts or ()]
    return [one.response for one in found if one is not None]


@pytest.mark.promise("J38")
@pytest.mark.parametrize("resumable", [True, False])
def test_requests_say_that_it_is_pending(resumable: bool) -> None:
    """Each later request that shows the open call has a response for it, which is stored nowhere; then the real one."""
    model = ScriptedModel(ASKS, ["One."], ["Two."], ["Answered."], ["Three."])
    runner = app_runner(llm("a", model, tools=[ASK]), resumable=resumable)
    run(runner, "Go")
    run(runner, "And now?")
    run(runner, "And now?")
    for request in model.requests[1:]:
        assert responses(request.contents) == [STILL_PENDING]
        assert list(request_faults(request.contents)) == []
    assert not responses(event.content for event in log(runner) if event.content)
    [question] = runner.pending(USER, "s")
    run(runner, question.answer({"n": 7}))
    run(runner, "Thanks")
    assert [responses(request.contents) for request in model.requests[3:]] == [[{"n": 7}], [{"n": 7}]]
    assert runner.pending(USER, "s") == []


@pytest.mark.promise("J38")
def test_an_answer_is_not_hidden_from_another_agent() -> None:
    """The next agent of a sequence reads the answer as context."""
    model = ScriptedModel(["C."])
    flow = SequentialAgent(name="flow", sub_agents=[llm("b", ASKS, ["B."], tools=[ASK]), llm("c", model)])
    runner = app_runner(flow)
    run(runner, "Go")
    run(runner, runner.pending(USER, "s")[0].answer({"n": 7}))
    texts = [part.text for content in model.requests[0].contents for part in content.parts or () if part.text]
    assert '[b] `ask` tool returned result: {"n":7}' in texts


@pytest.mark.promise("J38")
def test_what_is_listed(tmp_path: Path) -> None:
    """pending() tells call id, name, arguments, hint and since when, from the file alone, in the order of the log."""
    service = SqliteSessionService(tmp_path / "s.db")
    refunds = Refunds()
    turn = [call("refund", order=7), call("ask", question="why?")]
    runner = app_runner(llm("a", turn, ["Done."], tools=[refunds.tool(), ASK]), service)
    with pytest.raises(SessionNotFoundError):
        runner.pending(USER, "s")
    run(runner, "Go")
    service.close()
    service = SqliteSessionService(tmp_path / "s.db")
    session = service.get_session("app", USER, "s")
    assert session is not None
    asked, confirm = session.pending()
    assert (asked.kind, asked.name, asked.args, asked.hint) == ("answer", "ask", {"question": "why?"}, "")
    assert (confirm.kind, confirm.name, confirm.args) == ("confirmation", "refund", {"order": 7})
    assert confirm.hint.startswith("Please approve or reject the tool call refund()")
    assert [one.since for one in (asked, confirm)] == [session.events[1].timestamp, session.events[2].timestamp]
    assert {one.invocation_id for one in (asked, confirm)} == {session.events[0].invocation_id}
    with pytest.raises(UsageError, match="answer"):
        asked.approve()
    service.close()


def test_a_predicate_asks_only_where_it_says() -> None:
    """require_confirmation as a function of the arguments: small refunds run at once, large ones ask."""
    refunds = Refunds()
    turns = [[call("refund", order=5)], ["Small."], [call("refund", order=500)], ["Large."]]
    runner = app_runner(llm("a", *turns, tools=[refunds.tool(lambda order: order > 100)]))
    assert marks(run(runner, "Go"))[-2:] == ["a: Small.", "a end"]
    run(runner, "Go")
    assert [order for _, order in refunds.done] == [5]
    [question] = runner.pending(USER, "s")
    assert question.args == {"order": 500}
    run(runner, question.approve())
    assert [order for _, order in refunds.done] == [5, 500]


def test_the_id_is_the_same_before_and_after() -> None:
    """The approved call runs under its own id."""
    refunds = Refunds()
    runner = app_runner(llm("a", [call("refund", order=5)], ["Done."], tools=[refunds.tool()]))
    [first, *_] = run(runner, "Go")
    run(runner, runner.pending(USER, "s")[0].approve())
    assert refunds.done == [(first.function_calls[0].id, 5)]


def test_a_tool_asks_by_itself() -> None:
    """Hint and payload reach the user, the answer's payload reaches the tool, which runs again with it."""
    seen: list[ToolConfirmation | None] = []

    def book(tool_context: Any) -> dict[str, Any]:
        """Book."""
        seen.append(tool_context.tool_confirmation)
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="How many?", payload={"n": 1})
            return {"status": "asked"}
        return {"booked": tool_context.tool_confirmation.payload["n"]}

    runner = app_runner(llm("a", [call("book")], ["Done."], tools=[book]))
    run(runner, "Go")
    [question] = runner.pending(USER, "s")
    assert (question.hint, question.payload) == ("How many?", {"n": 1})
    run(runner, question.approve({"n": 3}))
    assert seen == [None, ToolConfirmation(confirmed=True, payload={"n": 3})]
    assert {"booked": 3} in responses(event.content for event in log(runner) if event.content)


def test_a_tool_that_asks_again() -> None:
    """A question may follow the answer to a question; each is decided once."""
    steps: list[Any] = []

    def launch(tool_context: Any) -> dict[str, Any]:
        """Launch."""
        decided = tool_context.tool_confirmation
        steps.append(decided and decided.payload)
        if decided is None or decided.payload is None:
            tool_context.request_confirmation(hint="Sure?" if decided is None else "Really?")
            return {"status": "asked"}
        return {"launched": True}

    runner = app_runner(llm("a", [call("launch")], ["Done."], tools=[launch]))
    run(runner, "Go")
    [first] = runner.pending(USER, "s")
    run(runner, first.approve())
    [second] = runner.pending(USER, "s")
    assert (first.hint, second.hint) == ("Sure?", "Really?")
    assert run(runner, first.approve("x")) == []
    assert marks(run(runner, second.approve("now")))[-2:] == ["a: Done.", "a end"]
    assert steps == [None, None, "now"]


@pytest.mark.parametrize("forged", ["arguments", "name", "author", "by the model"])
def test_a_decision_is_bound_to_the_recorded_call(forged: str) -> None:
    """An approval of other arguments, another name, another agent's call, or of a question that nobody asked, runs
    nothing."""
    refunds = Refunds()
    real = FunctionCall(id="c1", name="refund", args={"order": 1})
    shown = real.model_copy(
        update={"args": {"order": 900}} if forged == "arguments" else {"name": "other"} if forged == "name" else {}
    )
    question = confirmation_call("q1", shown, ToolConfirmation(hint="ok?"))
    asks = frozenset(["q1"]) if forged != "by the model" else None
    runner = app_runner(llm("a", ["Nothing."], tools=[refunds.tool()]), resumable=False)

    def said(author: str, *parts: Part, **more: Any) -> Event:
        return Event(invocation_id="e-1", author=author, content=Content(role="model", parts=parts), **more)

    put(
        runner,
        said("user", Part(text="Go")),
        said("a", Part(function_call=real)),
        said("b" if forged == "author" else "a", question, long_running_tool_ids=asks),
    )
    run(runner, answer("q1", {"confirmed": True}, name="adk_request_confirmation"))
    assert refunds.done == []


def test_an_ignored_question_leaves_the_session_usable() -> None:
    """Plain text instead of an answer is answered; the approval still works afterwards."""
    refunds = Refunds()
    turns = [[call("refund", order=1)], ["Let us talk."], ["Done."]]
    runner = app_runner(llm("a", *turns, tools=[refunds.tool()]))
    run(runner, "Go")
    assert marks(run(runner, "Something else")) == ["a: Let us talk.", "a end"]
    assert marks(run(runner, runner.pending(USER, "s")[0].approve()))[-2:] == ["a: Done.", "a end"]
    assert len(refunds.done) == 1


def test_a_long_running_tool_that_asks_first() -> None:
    """It is one question, then, approved, one answer that is owed."""
    started: list[int] = []

    def deploy(version: int) -> None:
        """Deploy."""
        started.append(version)

    tool = FunctionTool(deploy, is_long_running=True, require_confirmation=True)
    runner = app_runner(llm("a", [call("deploy", version=3)], ["Under way."], ["Deployed."], tools=[tool]))
    run(runner, "Go")
    [question] = runner.pending(USER, "s")
    assert (question.kind, started) == ("confirmation", [])
    assert marks(run(runner, question.approve())) == ["a: response(deploy)", "a: Under way."]
    [owed] = runner.pending(USER, "s")
    assert (owed.kind, owed.name, started) == ("answer", "deploy", [3])
    assert marks(run(runner, owed.answer({"ok": True}))) == ["a: Deployed.", "a end"]


def test_a_transfer_that_is_asked_for() -> None:
    """A confirmed tool may hand over: the transfer happens after the approval, and both agents mark their ends."""

    def escalate(tool_context: Any) -> None:
        """Hand over to a human's agent."""
        tool_context.actions.transfer_to_agent = "kid"

    kid = llm("kid", ["Kid."])
    tool = FunctionTool(escalate, require_confirmation=True)
    runner = app_runner(llm("root", [call("escalate")], tools=[tool], sub_agents=[kid]))
    run(runner, "Go")
    after = marks(run(runner, runner.pending(USER, "s")[0].approve()))
    assert after == ["root: response(escalate)", "kid: Kid.", "kid end", "root end"]


@pytest.mark.promise("J38")
def test_a_closed_invocation_asks_nothing() -> None:
    """A resume by id without an answer closes an agent that had gone on with an interim value: the question is gone."""

    def hold(request: str) -> str:
        """Say something meanwhile."""
        return "waiting"

    turns = [[call("hold", request="?")], ["Waiting."], ["Closed."]]
    runner = app_runner(llm("a", *turns, tools=[LongRunningFunctionTool(hold)]))
    run(runner, "Go")
    [question] = runner.pending(USER, "s")
    assert marks(run(runner, invocation_id=question.invocation_id)) == ["a: Closed.", "a end"]
    assert runner.pending(USER, "s") == []
    assert run(runner, question.answer({"late": True})) == []


@pytest.mark.promise("J38")
def test_a_sibling_that_escalates_closes_the_question() -> None:
    """The end of a parallel agent, one of whose members has escalated, leaves nobody to take another one's answer."""
    asks = SequentialAgent(name="seq", sub_agents=[llm("a", [call("ask", question="?")], tools=[ASK])])
    leaves = llm("b", [call("exit_loop")], tools=[exit_loop])
    both = ParallelAgent(name="both", scheduler="caller", sub_agents=[asks, leaves])
    after = llm("c", [call("ask", question="!")], tools=[ASK])
    runner = app_runner(SequentialAgent(name="flow", sub_agents=[both, after]))
    run(runner, "Go")
    [question] = runner.pending(USER, "s")
    assert (question.author, question.args) == ("c", {"question": "!"})


@pytest.mark.promise("J38")
def test_a_run_whose_question_was_closed_is_not_paused() -> None:
    """When nobody is owed an answer any more, the outcome is completed, as `pending` says."""
    ends = Ends()
    members = [llm("a", [call("ask", question="?")], tools=[ASK]), llm("b", [call("exit_loop")], tools=[exit_loop])]
    runner = app_runner(ParallelAgent(name="both", scheduler="caller", sub_agents=members), plugins=[ends])
    run(runner, "Go")
    assert runner.pending(USER, "s") == []
    assert ends.next().kind == "completed"


@pytest.mark.promise("J38")
@pytest.mark.parametrize("resumable", [True, False])
def test_a_question_is_asked_though_a_call_beside_it_fails(resumable: bool) -> None:
    """A tool has asked, and the run fails by another one: the question stands in the log, and can be answered."""

    errors = [ValueError("broken")]

    def work() -> Single[str]:
        """Fail, once."""
        return Single.error(errors.pop()) if errors else Single.just("done")

    refunds = Refunds()
    model = ScriptedModel([call("refund", order=7), call("work")], ["Refunded."])
    runner = app_runner(llm("a", model, tools=[refunds.tool(), work]), resumable=resumable)
    with pytest.raises(ValueError, match="broken"):
        run(runner, "Go")
    [question] = runner.pending(USER, "s")
    assert (question.name, question.args) == ("refund", {"order": 7})
    assert "a: Refunded." in said(run(runner, question.approve()))
    assert [order for _, order in refunds.done] == [7]
