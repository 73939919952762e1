"""What an abort writes: real results, and what is known of the other calls; by occurrence, and once."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rxagent.agents import LlmAgent, ParallelAgent
from rxagent.events import Content, Event, FunctionResponse, Part
from rxagent.history.sealing import is_seal
from rxagent.invocation import AbortSignal, InvocationContext, RunConfig, ToolContext
from rxagent.plugins import BasePlugin
from rxagent.runner import Runner
from rxagent.streams import CancelScope, Single, SingleEmitter
from rxagent.testing.invariants import log_faults
from rxagent.testing.scripted_model import ScriptedModel, call, pause
from rxagent.tools import BaseTool, FunctionTool, LongRunningFunctionTool
from tests.runner.driving import APP, SSE, USER, Consumer, Ends, Gate, log, put, runner_of, said

from .stopping import ABORTED, aborted, next_turn, statuses

PARALLEL = RunConfig(tool_execution_mode="parallel_subscribe")


def stopped(runner: Runner, entered: threading.Event, config: RunConfig = PARALLEL, **more: Any) -> list[Event]:
    """Abort the run when the tool has been entered; the log."""
    signal = AbortSignal()
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", config, abort_signal=signal))
    assert entered.wait(5)
    signal.set(more.get("reason", "user_stop"))
    consumer.wait()
    assert consumer.ends == ["completed"]
    events = log(runner)
    assert list(log_faults(events)) == []
    assert [event.id for event in events[1:]] == [event.id for event in consumer.events]
    return events


@pytest.mark.promise("A4")
@pytest.mark.promise("A5")
def test_finished_calls_keep_their_results() -> None:
    """Three calls, two have finished: one event holds both real results and the seal, in call order."""
    waits, others = threading.Event(), threading.Barrier(3)

    def fast(number: int) -> int:
        """Fast."""
        others.wait(5)
        return number

    async def slow() -> str:
        """Slow."""
        waits.set()
        await asyncio.sleep(60)
        return "never"

    def gate() -> None:
        others.wait(5)
        waits.wait(5)

    ends = Ends()
    model = ScriptedModel([call("fast", number=1), call("slow"), call("fast", number=2)])
    runner = runner_of(model, tools=[fast, slow], plugins=[ends])
    starter = threading.Thread(target=gate)
    starter.start()
    signal = AbortSignal()
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", PARALLEL, abort_signal=signal))
    starter.join(5)
    signal.set()
    consumer.wait()
    last = aborted(log(runner), "user_stop")
    assert (last.author, last.branch, is_seal(last)) == ("agent", None, True)
    found = [
        (one.name, (one.response or {}).get("result", (one.response or {}).get("status")))
        for one in last.function_responses
    ]
    assert found == [("fast", 1), ("slow", "stopped"), ("fast", 2)]
    assert said(log(runner)) == [
        "user: Hi",
        "agent: call(fast) call(slow) call(fast)",
        "agent: response(fast) response(slow) response(fast)",
    ]
    assert ends.next().calls_sealed == 1
    next_turn(runner)


@pytest.mark.promise("A5")
def test_what_is_known_of_each_call() -> None:
    """A coroutine that was cancelled has stopped; a tool that was not called was never started; a Single's job and a
    plain tool that does not end within the grace are unknown. None can be read as success, each says why."""
    begun, entered, free = threading.Event(), threading.Event(), Gate()
    pool = ThreadPoolExecutor(1)

    async def coroutine() -> None:
        """Wait."""
        begun.set()
        await asyncio.sleep(60)

    def job() -> Single[str]:
        """A job elsewhere."""

        def start(emitter: SingleEmitter[str]) -> None:
            emitter.set_cancellable(lambda: None)
            pool.submit(free)

        return Single.create(start)

    def stubborn() -> str:
        """Never look at a stop."""
        assert begun.wait(5)
        entered.set()
        free()
        return "late"

    def later() -> str:
        """Not reached."""
        raise AssertionError

    model = ScriptedModel([call("coroutine"), call("job"), call("stubborn"), call("later")])
    runner = runner_of(model, tools=[coroutine, job, stubborn, later])
    events = stopped(runner, entered, RunConfig(cancel_grace_period=0.1), reason="worker_shutdown")
    found = statuses(events)
    assert found == {"coroutine": "stopped", "job": "unknown", "stubborn": "unknown", "later": "never_started"}
    for response in events[-1].function_responses:
        words = (response.response or {})["message"]
        assert "worker_shutdown" in words
        assert not {"success", "done.", "result:"} & set(words.lower().split())
    free.opened.set()
    pool.shutdown()
    next_turn(runner)
    assert statuses(log(runner))["stubborn"] == "unknown"  # the late result is dropped


@pytest.mark.promise("A5")
@pytest.mark.parametrize("how", ["returned", "raised", "left by the stop"])
def test_an_end_within_the_grace(how: str) -> None:
    """A value or an error within the grace is the call's real response; a tool that raises the scope's stop stopped."""
    entered = threading.Event()

    def tool(tool_context: ToolContext) -> str:
        """Work."""
        entered.set()
        if how == "left by the stop":
            tool_context.scope.sleep(60)
        wake = threading.Event()
        tool_context.on_abort(wake.set)
        assert wake.wait(5)
        if how == "raised":
            raise ValueError("broken")
        return "done after all"

    events = stopped(runner_of(ScriptedModel([call("tool")]), tools=[tool]), entered)
    expected: dict[str, Any] = {
        "returned": {"result": "done after all"},
        "raised": {"status": "error", "message": "An internal error occurred."},
        "left by the stop": "stopped",
    }
    assert statuses(events)["tool"] == expected[how]
    assert is_seal(events[-1]) == (how == "left by the stop")


class Own(BaseTool):
    """A tool that is no function, and whose job goes on elsewhere."""

    def __init__(self, entered: threading.Event) -> None:
        super().__init__("tool", "Work.")
        self.entered = entered

    def run_async(self, args: dict[str, Any], tool_context: Any) -> Single[Any]:
        return Single.create(lambda emitter: self.entered.set())


@pytest.mark.promise("A5")
@pytest.mark.parametrize("kind", ["a function", "a tool of its own kind"])
def test_a_job_elsewhere_is_unknown_at_once(kind: str) -> None:
    """Nobody waits the grace for a job whose end cannot be seen from here: its call is sealed as unknown."""
    entered = threading.Event()

    def tool() -> Single[Any]:
        """Work."""
        return Single.create(lambda emitter: entered.set())

    runner = runner_of([[call("tool")]], tools=[tool if kind == "a function" else Own(entered)])
    assert statuses(stopped(runner, entered, RunConfig(cancel_grace_period=60)))["tool"] == "unknown"


@pytest.mark.promise("A5")
def test_stopped_in_its_hook_a_call_was_never_started() -> None:
    """Stopped in the before-tool callback, the tool was not called, and the seal says so."""
    entered, started = threading.Event(), list[int]()

    async def before(tool: Any, args: Any, ctx: Any) -> None:
        entered.set()
        await asyncio.sleep(60)

    agent = LlmAgent(
        name="agent",
        model=ScriptedModel([call("tool")]),
        tools=[FunctionTool(lambda: started.append(1), name="tool")],
        before_tool_callback=before,
    )
    events = stopped(Runner(agent, app_name=APP), entered, RunConfig(cancel_grace_period=60))
    assert (statuses(events)["tool"], started) == ("never_started", [])


@pytest.mark.promise("A4")
def test_state_of_a_finished_tool_is_kept() -> None:
    """What a tool wrote to the state before the abort goes into the log with its result."""
    entered = threading.Event()

    def writes(tool_context: ToolContext) -> str:
        """Write."""
        tool_context.state["written"] = 1
        return "done"

    async def slow(tool_context: ToolContext) -> None:
        """Wait."""
        entered.set()
        await asyncio.sleep(60)

    runner = runner_of(ScriptedModel([call("writes"), call("slow")]), tools=[writes, slow])
    events = stopped(runner, entered, RunConfig())
    assert statuses(events) == {"writes": {"result": "done"}, "slow": "stopped"}
    session: Any = runner.session_service.get_session(APP, USER, "s")
    assert session.state["written"] == 1


@pytest.mark.promise("A4")
def test_one_event_per_author_and_branch() -> None:
    """Calls of two parallel agents: one event for each, authored and branched like the call's own response would be."""
    inside = threading.Barrier(3)

    async def slow() -> None:
        """Wait."""
        await asyncio.to_thread(inside.wait, 5)
        await asyncio.sleep(60)

    members = [LlmAgent(name=name, model=ScriptedModel([call("slow")]), tools=[slow]) for name in ("one", "two")]
    runner = Runner(ParallelAgent(name="both", sub_agents=members), app_name=APP)
    signal = AbortSignal()
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", abort_signal=signal))
    inside.wait(5)
    signal.set()
    consumer.wait()
    seals = log(runner)[3:]
    calls = {event.author: event.branch for event in log(runner)[1:3]}
    assert {event.author: event.branch for event in seals} == calls == {"one": "both.one", "two": "both.two"}
    assert [event.error_code for event in seals] == [ABORTED, ABORTED]
    assert [len(event.function_responses) for event in seals] == [1, 1]


@pytest.mark.promise("A4")
def test_ids_that_a_server_reuses() -> None:
    """Two steps and an older run all call with the id `c1`: the open occurrence is sealed, the others are not."""
    entered = threading.Event()

    def tool(number: int, tool_context: ToolContext) -> int:
        """Work."""
        if number == 2:
            entered.set()
            tool_context.scope.sleep(60)
        return number

    model = ScriptedModel([call.with_id("c1", "tool", number=1)], [call.with_id("c1", "tool", number=2)])
    runner = runner_of(model, tools=[tool])
    old = Part(function_response=FunctionResponse(id="c1", name="tool", response={"result": 0}))
    put(
        runner,
        Event(invocation_id="e-0", author="user", content=Content.user("Before")),
        Event(
            invocation_id="e-0",
            author="agent",
            content=Content(role="model", parts=(call.with_id("c1", "tool", number=0),)),
        ),
        Event(invocation_id="e-0", author="agent", content=Content(role="user", parts=(old,))),
    )
    events = stopped_on_top(runner, entered)
    results = [
        (one.response or {}).get("result", (one.response or {}).get("status"))
        for event in events
        for one in event.function_responses
    ]
    assert results == [0, 1, "stopped"]
    next_turn(runner)


def stopped_on_top(runner: Runner, entered: threading.Event) -> list[Event]:
    signal = AbortSignal()
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", abort_signal=signal))
    assert entered.wait(5)
    signal.set()
    consumer.wait()
    aborted(log(runner), "user_stop")
    return log(runner)


@pytest.mark.promise("A4")
@pytest.mark.promise("A6")
def test_a_designed_pause_stays_open() -> None:
    """A designed pause is not sealed: beside a call that is, it stays pending, and can still be answered."""
    entered = threading.Event()

    async def slow() -> None:
        """Wait."""
        entered.set()
        await asyncio.sleep(60)

    asks = LongRunningFunctionTool(lambda: None, name="ask")
    runner = runner_of(ScriptedModel([call("ask"), call("slow")]), tools=[asks, slow])
    events = stopped(runner, entered, RunConfig())
    assert statuses(events) == {"slow": "stopped"}
    session: Any = runner.session_service.get_session(APP, USER, "s")
    assert [one.name for one in session.pending()] == ["ask"]
    next_turn(runner)


@pytest.mark.promise("A6")
def test_without_open_calls_one_bare_event() -> None:
    """Between two steps, or in a model call, one event without content closes the run."""
    runner, signal = runner_of([["Once ", pause(60)]]), AbortSignal()
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE, abort_signal=signal))
    consumer.next()
    signal.set("client_disconnect")
    consumer.wait()
    assert said(consumer.events) == ["agent~ Once ", "agent: "]
    last = aborted(log(runner), "client_disconnect")
    assert (last.content, last.author, last.function_responses) == (None, "agent", ())
    assert last.invocation_id == log(runner)[0].invocation_id


@pytest.mark.promise("A6")
@pytest.mark.parametrize("where", ["on_next", "after_agent", "after_run"])
def test_a_final_run_is_not_marked(where: str) -> None:
    """A run that has said its last completes as if no signal had come: after-agent, after-run, outcome completed."""
    signal, ends, hooks = AbortSignal(), Ends(), list[str]()

    def stop_in(place: str) -> None:
        hooks.append(place)
        if place == where:
            signal.set()

    class Stops(BasePlugin):
        def after_run_callback(self, ctx: InvocationContext) -> None:
            stop_in("after_run")

    runner = runner_of(
        ["Hello."], plugins=[ends, Stops("stops")], after_agent_callback=lambda ctx: stop_in("after_agent")
    )
    consumer = Consumer(lambda event: stop_in("on_next"))
    consumer.of(runner.run_async(USER, "s", "Hi", abort_signal=signal)).wait()
    assert hooks == ["on_next", "after_agent", "after_run"]
    assert said(log(runner)) == ["user: Hi", "agent: Hello."]
    assert (consumer.ends, ends.next().kind, len(ends.after_run)) == (["completed"], "completed", 1)


def test_the_half_answer_can_be_kept() -> None:
    """`keep_partial_on_abort`: exactly the text that was shown is stored, marked as incomplete, and never twice."""
    config = RunConfig(streaming_mode="sse", keep_partial_on_abort=True)
    runner, signal = runner_of([["Once ", "upon ", pause(60), "more"]]), AbortSignal()
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", config, abort_signal=signal))
    consumer.next()
    consumer.next()
    signal.set()
    consumer.wait()
    half, end = log(runner)[1:]
    assert (half.text, half.error_code, half.custom_metadata) == ("Once upon ", ABORTED, {"incomplete": True})
    assert (end.content, end.error_code) == (None, ABORTED)
    next_turn(runner, model := ScriptedModel(["Back."]))
    assert [content.text for content in model.requests[0].contents] == ["Hi", "Once upon ", "Go on"]


def test_a_scope_of_ones_own_is_no_stop() -> None:
    """A tool that leaves by the stop of something else has failed; it is not told as stopped."""
    other = CancelScope()
    other.cancel("else")

    def tool() -> None:
        """Fail."""
        other.check()

    consumer = Consumer().of(runner_of(ScriptedModel([call("tool")]), tools=[tool]).run_async(USER, "s", "Hi")).wait()
    assert consumer.ends == ["error"]
