"""What a resume by id repeats and what it does not, and a tree that has changed. J32, J34, J35, A13."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from rxagent import RunConfig, ToolContext
from rxagent.agents import BaseAgent, LoopAgent, ParallelAgent, SequentialAgent
from rxagent.errors import AgentTreeChangedError
from rxagent.events import Event
from rxagent.history.sealing import is_seal
from rxagent.sessions import InMemorySessionService, SqliteSessionService
from rxagent.streams import Single
from rxagent.testing.scripted_model import ScriptedModel, call
from tests.runner.driving import USER, Consumer, log, watch

from .pausing import ASK, Refunds, answer, app_runner, left_at, llm, marks, run, stored


class Counted:
    """Tools that note the ids of their calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def work(self, tool_context: Any) -> str:
        """Work."""
        self.calls.append(("work", tool_context.function_call_id))
        return "worked"

    def stuck(self, tool_context: Any) -> Single[str]:
        """Work that does not end at its first call."""
        self.calls.append(("stuck", tool_context.function_call_id))
        return Single.create(lambda emitter: None) if len(self.calls) < 3 else Single.just("unstuck")


@pytest.mark.promise("J32")
@pytest.mark.promise("J34")
@pytest.mark.promise("A13", "resume")
def test_a_cut_step_runs_again(tmp_path: Path) -> None:
    """A finished step is not repeated; the cut one runs again with the same call ids, from the file alone."""
    tools = Counted()
    first = SqliteSessionService(tmp_path / "s.db")
    turns = [[call("work")], [call("stuck")], ["Done."]]
    runner = app_runner(llm("a", *turns, tools=[tools.work, tools.stuck]), first)
    consumer = Consumer().of(runner.run_async(USER, "s", "Go"))
    for _ in range(3):
        consumer.next()
    consumer.dispose()
    runner.close()
    first.close()
    before, id = tools.calls[:], ""
    second = SqliteSessionService(tmp_path / "s.db")
    runner = app_runner(llm("a", ["Done."], tools=[tools.work, tools.stuck]), second)
    id = log(runner)[0].invocation_id or ""
    tools.calls.append(("", ""))
    assert stored(runner) == ["user: Go", "a: call(work)", "a: response(work)", "a: call(stuck)"]
    assert marks(run(runner, invocation_id=id)) == ["a: response(stuck)", "a: Done.", "a end"]
    assert [name for name, _ in before].count("work") == 1
    stuck = {one for name, one in tools.calls if name == "stuck"}
    assert len(stuck) == 1
    assert not [event for event in log(runner) if is_seal(event)]
    second.close()


@pytest.mark.promise("J34")
def test_a_dispose_is_no_pause_point() -> None:
    """Nothing special is written; with a state delta the delta is stored, and the cut call is replayed all the same."""
    tools = Counted()
    service = InMemorySessionService()
    left_at(app_runner(llm("a", [call("work")], tools=[tools.work]), service), "a: call(work)")
    runner = app_runner(llm("a", ["Done."], tools=[tools.work]), service)
    assert stored(runner) == ["user: Go", "a: call(work)"]
    id = log(runner)[0].invocation_id
    assert marks(run(runner, invocation_id=id, state_delta={"n": 1})) == ["a: response(work)", "a: Done.", "a end"]
    session: Any = service.get_session("app", USER, "s")
    assert session.state == {"n": 1}
    assert [event.content for event in log(runner) if event.author == "user"][1:] == [None]


@pytest.mark.promise("J34")
def test_a_cut_model_step_is_asked_again() -> None:
    """Left at a partial: the resume asks the model the same, and finished sub-agents do not run again."""
    service, config = InMemorySessionService(), RunConfig(streaming_mode="sse")
    first = app_runner(SequentialAgent(name="flow", sub_agents=[llm("a", ["A."]), llm("b", ["B ", "half"])]), service)
    left_at(first, "b: B ", run_config=config)
    a, b = ScriptedModel(["never"]), ScriptedModel(["B."])
    runner = app_runner(SequentialAgent(name="flow", sub_agents=[llm("a", a), llm("b", b)]), service)
    assert marks(run(runner, invocation_id=log(runner)[0].invocation_id)) == ["b: B.", "b end", "flow end"]
    assert (len(a.calls), len(b.calls)) == (0, 1)


@pytest.mark.promise("J32")
def test_only_an_end_was_missing() -> None:
    """Left at the final text: no model is asked again, only the ends are written."""
    service = InMemorySessionService()
    left_at(app_runner(llm("a", ["Said."]), service), "a: Said.")
    runner = app_runner(llm("a"), service)
    id = log(runner)[0].invocation_id
    assert marks(run(runner, invocation_id=id)) == ["a end"]
    assert run(runner, invocation_id=id) == []


def family(model: Any = None) -> BaseAgent:
    """A tree of every kind."""

    def turn(*turns: Any) -> Any:
        return model or ScriptedModel(*turns)

    kid = llm("kid", turn(["Kid."]))
    boss = llm("boss", turn([call("transfer_to_agent", agent_name="kid")]), sub_agents=[kid])
    both = ParallelAgent(name="both", scheduler="caller", sub_agents=[llm("x", turn(["X."])), llm("y", turn(["Y."]))])
    loop = LoopAgent(name="loop", max_iterations=2, sub_agents=[llm("r", turn(["R1."], ["R2."])), both])
    return SequentialAgent(name="flow", sub_agents=[llm("a", turn(["A."])), boss, loop, llm("z", turn(["Z."]))])


WHOLE = [
    *("flow -> a", "a: A.", "a end", "flow -> boss"),
    *("boss: call(transfer_to_agent)", "boss: response(transfer_to_agent)", "kid: Kid.", "kid end", "boss end"),
    *("flow -> loop", "loop -> r 0", "r: R1.", "r end", "loop -> both 0"),
    *("both {}", "x: X.", "x end", "y: Y.", "y end", "both end"),
    *("loop -> r 1", "r: R2.", "r end", "loop -> both 1"),
    *("both {}", "x: X.", "x end", "y: Y.", "y end", "both end", "loop end"),
    *("flow -> z", "z: Z.", "z end", "flow end"),
]


class Lines(ScriptedModel):
    """A model for the whole family: what it says depends on who asks, and on how often that one has spoken."""

    def _begin(self, request: Any, stream: bool) -> Any:
        name = str(request.system_instruction).partition('internal name is "')[2].partition('"')[0]
        rounds = sum("R" in (part.text or "") for content in request.contents for part in content.parts or ())
        record, _ = super()._begin(request, stream)
        said: Any = {
            "a": "A.", "kid": "Kid.", "x": "X.", "y": "Y.", "z": "Z.", "r": f"R{1 + rounds}.",
            "boss": call("transfer_to_agent", agent_name="kid"),
        }[name]  # fmt: skip
        return record, (said,)


def lines() -> Lines:
    return Lines(["any"], repeat_last=True)


@pytest.mark.promise("J27")
@pytest.mark.promise("J32")
@pytest.mark.promise("J34")
@pytest.mark.parametrize("at", range(len(WHOLE)))
def test_left_anywhere_the_log_becomes_the_same(at: int) -> None:
    """A sequence of a transfer and a loop of a parallel agent, left at any event and resumed by id: the log is that of
    the uncut run, no step twice, and the invocation is then finished."""
    service = InMemorySessionService()
    seen: list[Event] = []

    def on_next(event: Event) -> None:
        seen.append(event)
        if len(seen) == at + 1:
            consumer.dispose()
            left.set()

    left, consumer = threading.Event(), Consumer(on_next)
    runner = app_runner(family(lines()), service)
    consumer.of(runner.run_async(USER, "s", "Go"))
    assert left.wait(5)
    runner.close()
    runner = app_runner(family(lines()), service)
    id = log(runner)[0].invocation_id
    run(runner, invocation_id=id)
    assert stored(runner)[1:] == WHOLE
    assert run(runner, invocation_id=id) == []


@pytest.mark.promise("J35")
@pytest.mark.parametrize("gone", ["b", "kid", "flow"])
def test_a_changed_tree(gone: str) -> None:
    """An agent that is to go on is gone: a typed error that names it, for both forms; the session is untouched."""

    def tree(name: str) -> BaseAgent:
        kid = llm("other" if name == "kid" else "kid", [call("ask", question="?")], ["Kid."], tools=[ASK])
        boss = llm("other" if name == "b" else "b", [call("transfer_to_agent", agent_name="kid")], sub_agents=[kid])
        return SequentialAgent(name="other_flow" if name == "flow" else "flow", sub_agents=[llm("a", ["A."]), boss])

    service = InMemorySessionService()
    run(app_runner(tree(""), service), "Go")
    runner = app_runner(tree(gone), service)
    before, appends = log(runner), watch(service, "append_events")
    [question] = runner.pending(USER, "s")
    for options in ({"message": question.answer({})}, {"invocation_id": before[0].invocation_id}):
        with pytest.raises(AgentTreeChangedError, match=repr(gone)) as caught:
            run(runner, options.pop("message", None), **options)
        assert caught.value.agent_name == gone
    assert (log(runner), appends) == (before, [])


@pytest.mark.promise("J35")
def test_who_was_to_take_over_is_gone() -> None:
    """Left at a hand-over, before the other agent has begun: that one is missed, too, if it is gone."""
    service = InMemorySessionService()

    def tree(kid: str) -> BaseAgent:
        return llm("boss", [call("transfer_to_agent", agent_name="kid")], sub_agents=[llm(kid, ["Kid."])])

    left_at(app_runner(tree("kid"), service), "boss: response(transfer_to_agent)")
    runner = app_runner(tree("other"), service)
    before, appends = log(runner), watch(service, "append_events")
    with pytest.raises(AgentTreeChangedError, match="'kid'"):
        run(runner, invocation_id=before[0].invocation_id)
    assert (log(runner), appends) == (before, [])


@pytest.mark.promise("A13", "resume")
def test_a_plain_message_seals_and_a_resume_goes_on_from_the_seal() -> None:
    """Once a plain message has sealed the open call, a later resume by id does not replay it."""
    tools = Counted()
    service = InMemorySessionService()
    left_at(app_runner(llm("a", [call("work")], tools=[tools.work]), service), "a: call(work)")
    done = list(tools.calls)
    model = ScriptedModel(["Hello."], ["Going on."])
    runner = app_runner(llm("a", model, tools=[tools.work]), service)
    id = log(runner)[0].invocation_id
    run(runner, "Something else")
    [seal] = [event for event in log(runner) if is_seal(event)]
    assert (seal.invocation_id, seal.author) == (id, "a")
    assert marks(run(runner, invocation_id=id)) == ["a: Going on.", "a end"]
    assert tools.calls == done


@pytest.mark.promise("A13", "resume")
def test_a_resume_seals_what_others_left() -> None:
    """The resume of one invocation replays its own call and seals that of another: its request is well formed."""
    tools = Counted()
    service = InMemorySessionService()
    left_at(app_runner(llm("a", [call("ask", question="?")], tools=[ASK]), service), "a: call(ask)")
    left_at(app_runner(llm("a", [call("work")], tools=[tools.work]), service), "a: call(work)", "Two")
    model = ScriptedModel(["Answered."])
    runner = app_runner(llm("a", model, tools=[tools.work, ASK]), service)
    [question] = runner.pending(USER, "s")
    assert marks(run(runner, question.answer({"ok": 1}))) == ["a: Answered.", "a end"]
    calls = [part.function_call for content in model.requests[0].contents for part in content.parts or ()]
    answers = [part.function_response for content in model.requests[0].contents for part in content.parts or ()]
    assert sorted(one.id or "" for one in calls if one) == sorted(one.id or "" for one in answers if one)


@pytest.mark.promise("A13", "resume")
def test_a_resume_that_says_nothing_seals_what_others_left() -> None:
    """A resume of a paused invocation by its id stores no message, and yet the seal of another one's call."""
    service = InMemorySessionService()
    left_at(app_runner(llm("a", [call("ask", question="?")], tools=[ASK]), service), "a: call(ask)")
    left_at(app_runner(llm("a", [call("work")], tools=[Counted().work]), service), "a: call(work)", "Two")
    runner = app_runner(llm("a", tools=[ASK]), service)
    before = log(runner)
    assert run(runner, invocation_id=before[0].invocation_id) == []
    [seal] = log(runner)[len(before) :]
    assert (is_seal(seal), seal.invocation_id) == (True, before[-1].invocation_id)


@pytest.mark.promise("A13", "resume")
@pytest.mark.parametrize("way", ["resume", "message"])
def test_an_approved_call_that_was_cut(way: str) -> None:
    """Left while the approved tool runs: a resume runs it again under its id, a plain message seals it instead."""
    service, entered = InMemorySessionService(), threading.Event()
    ids: list[str] = []

    def stuck(tool_context: Any) -> Single[str]:
        """Work that does not end."""
        ids.append(tool_context.function_call_id)
        entered.set()
        return Single.create(lambda emitter: None)

    from rxagent.tools import FunctionTool

    first = app_runner(llm("a", [call("stuck")], tools=[FunctionTool(stuck, require_confirmation=True)]), service)
    run(first, "Go")
    [question] = first.pending(USER, "s")
    consumer = Consumer().of(first.run_async(USER, "s", question.approve()))
    assert entered.wait(5)
    consumer.dispose()
    first.close()

    def stuck(tool_context: Any) -> str:  # type: ignore[no-redef]
        """Work."""
        ids.append(tool_context.function_call_id)
        return "done"

    model = ScriptedModel(["Said."])
    runner = app_runner(llm("a", model, tools=[FunctionTool(stuck, require_confirmation=True)]), service)
    if way == "resume":
        id = log(runner)[0].invocation_id
        assert marks(run(runner, invocation_id=id)) == ["a: response(stuck)", "a: Said.", "a end"]
        assert len(ids) == 2
        assert len(set(ids)) == 1
        return
    run(runner, "Something else")
    assert len(ids) == 1
    results = [one.response for content in model.requests[0].contents for one in _responses(content)]
    assert [result["status"] for result in results if result] == ["unknown"]
    assert run(runner, question.approve()) == []


def _responses(content: Any) -> list[Any]:
    return [part.function_response for part in content.parts or () if part.function_response is not None]


def test_a_question_that_was_cut_is_not_asked_twice() -> None:
    """Left between the question and the provisional result: a resume stays paused, and the approval runs the tool."""
    service, refunds = InMemorySessionService(), Refunds()
    first = app_runner(llm("a", [call("refund", order=1)], tools=[refunds.tool()]), service)
    left_at(first, "a: call(adk_request_confirmation)")
    runner = app_runner(llm("a", ["Done."], tools=[refunds.tool()]), service)
    id = log(runner)[0].invocation_id
    assert run(runner, invocation_id=id) == []
    [question] = runner.pending(USER, "s")
    assert marks(run(runner, question.approve())) == ["a: response(refund)", "a: Done.", "a end"]
    assert len(refunds.done) == 1


def test_nothing_new_stays_paused() -> None:
    """A resume by id of a paused invocation, or a text with its id, is silent and changes nothing but its hooks."""
    runner = app_runner(
        SequentialAgent(name="flow", sub_agents=[llm("a", [call("ask", question="?")], ["A."], tools=[ASK])])
    )
    run(runner, "Go")
    before, id = log(runner), log(runner)[0].invocation_id
    assert run(runner, invocation_id=id) == []
    assert run(runner, "Hello?", invocation_id=id, state_delta={"n": 1}) == []
    assert log(runner) == before
    assert marks(run(runner, answer(runner.pending(USER, "s")[0].call_id, {}))) == ["a: A.", "a end", "flow end"]


def enough(tool_context: ToolContext) -> None:
    """End what is around."""
    tool_context.actions.escalate = True


@pytest.mark.promise("J32")
@pytest.mark.parametrize(
    ("kind", "rest"), [("loop", ["a: Bye.", "a end", "flow end"]), ("parallel", ["flow end"])], ids=["loop", "parallel"]
)
def test_left_at_an_escalation(kind: str, rest: list[str]) -> None:
    """Left at the event that ends a loop, or a parallel agent, a resume does what the uncut run would have done: in a
    loop the member that escalated comes to its end, in a parallel agent no branch goes on."""
    service = InMemorySessionService()

    def around(model: ScriptedModel) -> BaseAgent:
        member, other = llm("a", model, tools=[enough]), llm("b", ["Never."])
        if kind == "loop":
            return LoopAgent(name="flow", sub_agents=[member, other])
        return ParallelAgent(name="flow", sub_agents=[member, other], scheduler="caller")

    left_at(app_runner(around(ScriptedModel([call("enough")])), service), "a: response(enough)")
    runner = app_runner(around(ScriptedModel(["Bye."])), service)
    assert marks(run(runner, invocation_id=log(runner)[0].invocation_id)) == rest
