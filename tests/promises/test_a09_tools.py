"""Tools that look at a stop end at the next chunk; those that do not, do not hold the stream."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from rxagent import LlmAgent, SequentialAgent
from rxagent.agents import BaseAgent
from rxagent.invocation import AbortSignal, RunConfig, StopDepth, ToolContext
from rxagent.testing.scripted_model import ScriptedModel, call
from rxagent.testing.scripted_model import gate as model_gate
from tests.runner.driving import USER, Consumer, Ends, Gate, log, runner_of, within

from .stopping import aborted, next_turn, statuses


def by_a_thread(signal: AbortSignal) -> None:
    thread = threading.Thread(target=signal.set)
    thread.start()
    thread.join()


def by_a_loop(signal: AbortSignal) -> None:
    async def stop() -> None:
        asyncio.get_running_loop().call_soon(signal.set)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(stop())


@pytest.mark.promise("A9")
@pytest.mark.parametrize("mode", ["none", "sequential", "parallel", "parallel_subscribe"])
@pytest.mark.parametrize("stop", [by_a_thread, by_a_loop, AbortSignal.set])
def test_a_chunked_tool_stops_at_the_next_chunk(stop: Callable[[AbortSignal], None], mode: Any) -> None:
    """A synchronous tool that polls `is_aborted` between chunks writes no further one, whichever thread set it."""
    chunks: list[int] = []
    signal, third, go_on = AbortSignal(), threading.Event(), threading.Event()

    def export(tool_context: ToolContext) -> dict[str, Any]:
        """Write chunks."""
        for chunk in range(100):
            if tool_context.is_aborted:
                return {"status": "stopped", "chunks": chunk}
            chunks.append(chunk)
            if chunk == 2:
                third.set()
                assert go_on.wait(5)
        return {"status": "done"}

    runner = runner_of(ScriptedModel([call("export")]), tools=[export])
    config = RunConfig(tool_execution_mode=mode)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", config, abort_signal=signal))
    assert third.wait(5)
    stop(signal)
    go_on.set()
    consumer.wait()
    assert chunks == [0, 1, 2]
    aborted(log(runner), "user_stop")
    assert statuses(log(runner)) == {"export": {"status": "stopped", "chunks": 3}}


@pytest.mark.promise("A9")
@pytest.mark.parametrize("kind", ["plain", "coroutine"])
def test_a_tool_that_ignores_it(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """The stream ends within the grace, the call is sealed as unknown; the late result is dropped and logged."""
    gate, ends, signal = Gate(), Ends(), AbortSignal()

    def plain() -> str:
        """Work on."""
        gate()
        return "late"

    async def coroutine() -> str:
        """Swallow the cancel, and work on."""
        while not gate.opened.is_set():
            try:
                gate.entered.set()
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        gate.left.set()
        return "late"

    tool = plain if kind == "plain" else coroutine
    runner = runner_of(ScriptedModel([call(kind)]), tools=[tool], plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", RunConfig(cancel_grace_period=0.2), abort_signal=signal))
    assert gate.entered.wait(5)
    began = time.monotonic()
    signal.set()
    consumer.wait()
    assert time.monotonic() - began < 1.5  # 0.2 s, and what a busy machine adds
    assert statuses(log(runner)) == {kind: "unknown"}
    assert (ends.next().kind, len(runner.leftovers())) == ("aborted", 1)
    before = log(runner)
    gate.opened.set()
    assert gate.left.wait(5)
    assert within(lambda: runner.leftovers() == [])
    assert within(lambda: any(record.name == "rxagent.late" for record in caplog.records))
    assert log(runner) == before
    next_turn(runner)


@pytest.mark.promise("A9")
def test_a_grace_of_nothing() -> None:
    """With a grace of 0 nobody waits for the tool."""
    gate, signal = Gate(), AbortSignal()

    def tool() -> str:
        """Work on."""
        gate()
        return "late"

    runner = runner_of(ScriptedModel([call("tool")]), tools=[tool])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", RunConfig(cancel_grace_period=0), abort_signal=signal))
    assert gate.entered.wait(5)
    signal.set()
    consumer.wait()
    assert not gate.left.is_set()
    assert statuses(log(runner)) == {"tool": "unknown"}
    gate.opened.set()
    assert within(lambda: runner.leftovers() == [])


DEPTHS: list[tuple[StopDepth, dict[str, Any]]] = [
    ("tool", {"first": {"result": "done"}, "second": "never_started"}),
    ("turn", {"first": {"result": "done"}, "second": {"result": "done"}}),
    ("now", {"first": {"result": "done"}, "second": "never_started"}),
]


@pytest.mark.parametrize(("after", "found"), DEPTHS)
def test_how_deep_a_stop_cuts(after: StopDepth, found: dict[str, Any]) -> None:
    """ "tool": running tools finish and are stored, no other starts; "turn": all calls of the step; then as "now"."""
    gate, looked = Gate(), list[bool]()

    def first(tool_context: ToolContext) -> str:
        """Work."""
        gate()
        looked.append(tool_context.is_aborted)
        return "done"

    def second() -> str:
        """Work."""
        return "done"

    model = ScriptedModel([call("first"), call("second")], ["Never."])
    runner = runner_of(model, tools=[first, second])
    run = runner.start(USER, "s", "Hi", RunConfig(tool_execution_mode="sequential"))
    assert gate.entered.wait(5)
    run.abort("enough", after=after)
    gate.opened.set()
    outcome = run.wait(5)
    assert outcome is not None
    assert (outcome.kind, outcome.reason, len(model.calls)) == ("aborted", "enough", 1)
    aborted(log(runner), "enough")
    assert (statuses(log(runner)), looked) == (found, [after == "now"])


@pytest.mark.parametrize("order", [("turn", "tool"), ("turn", "now"), ("tool", "now")])
def test_a_nearer_stop_overrides(order: tuple[StopDepth, StopDepth]) -> None:
    """A later stop that cuts deeper counts, a shallower one does not; the first reason stays."""
    gate, signal = Gate(), AbortSignal()

    def first() -> str:
        """Work."""
        gate()
        return "done"

    def second() -> str:
        """Not started."""
        raise AssertionError

    runner = runner_of(ScriptedModel([call("first"), call("second")]), tools=[first, second])
    config = RunConfig(tool_execution_mode="sequential")
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", config, abort_signal=signal))
    assert gate.entered.wait(5)
    for number, after in enumerate((*order, order[0])):
        signal.set(f"reason {number}", after)
    gate.opened.set()
    consumer.wait()
    aborted(log(runner), "reason 0")
    assert statuses(log(runner)) == {"first": {"result": "done"}, "second": "never_started"}


def test_a_deep_stop_in_a_model_call() -> None:
    """ "tool" cancels the model call and the run is aborted; "turn" lets an answer come to its end: completed."""
    for after, kind in (("tool", "aborted"), ("turn", "completed")):
        gate = Gate()
        runner = runner_of([["Once ", model_gate(gate.opened), "upon"]])
        run = runner.start(USER, "s", "Hi", RunConfig(streaming_mode="sse"))
        next(iter(run))
        run.abort("enough", after=after)  # type: ignore[arg-type]
        gate.opened.set()
        outcome = run.wait(5)
        assert outcome is not None
        assert outcome.kind == kind


@pytest.mark.parametrize("after", ["tool", "turn"])
@pytest.mark.parametrize("kind", ["agent", "workflow"])
def test_a_deep_stop_while_another_agent_has_taken_over(kind: str, after: StopDepth) -> None:
    """It is the other one's step that may come to its end; who handed over does not hold the stop."""
    gate = Gate()

    def work() -> str:
        """Work."""
        gate()
        return "done"

    model = ScriptedModel([call("work")], ["Never."])
    kid: BaseAgent = LlmAgent(name="kid", model=model, tools=[work])
    taking_over = kid if kind == "agent" else SequentialAgent(name="flow", sub_agents=[kid])
    root = ScriptedModel([call("transfer_to_agent", agent_name=taking_over.name)], ["Never."])
    runner = runner_of(root, sub_agents=[taking_over])
    run = runner.start(USER, "s", "Hi")
    assert gate.entered.wait(5)
    run.abort("enough", after=after)
    gate.opened.set()
    outcome = run.wait(5)
    assert outcome is not None
    assert (outcome.kind, outcome.reason, len(model.calls), len(root.calls)) == ("aborted", "enough", 1, 1)
    assert statuses(log(runner))["work"] == {"result": "done"}


@pytest.mark.parametrize("hook", ["before_model_callback", "before_tool_callback"])
@pytest.mark.parametrize("mode", ["none", "parallel_subscribe"])
def test_asked_for_in_a_hook_that_comes_before(hook: str, mode: Any) -> None:
    """What the hook comes before does not begin any more: the model is not asked, the tool is never started."""
    signal, ran = AbortSignal(), list[str]()

    def work() -> None:
        """Work."""
        ran.append("tool")

    model = ScriptedModel([call("work"), call("work")], ["Never."])
    hooks: dict[str, Any] = {hook: lambda *_: signal.set("enough", after="tool")}
    runner = runner_of(model, tools=[work], **hooks)
    consumer = Consumer().of(
        runner.run_async(USER, "s", "Hi", RunConfig(tool_execution_mode=mode), abort_signal=signal)
    )
    consumer.wait()
    aborted(log(runner), "enough")
    assert ran == []
    if hook == "before_model_callback":
        assert model.calls == []
    else:
        assert statuses(log(runner)) == {"work": "never_started"}
