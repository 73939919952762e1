"""The four ways to run the calls of one answer: what starts when, and where; what comes of a failure."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from reactivex import Observable

from rxagent.events import Content
from rxagent.events.pairing import open_calls
from rxagent.flow.tool_run import ToolRun
from rxagent.invocation import RunConfig, ToolExecutionMode
from rxagent.models import BaseLlm, LlmRequest, LlmResponse
from rxagent.streams import Blocking, CancelScope
from rxagent.testing.scripted_model import ScriptedModel, call
from tests.runner.driving import USER, Consumer, log, runner_of, said, watch

from .desk import ASYNCHRONOUS, KINDS, MODES, Desk, answered, mode

MIXES = [dict(zip("abc", kinds, strict=True)) for kinds in itertools.product(KINDS, repeat=3)]
EAGER: list[Any] = [
    pytest.param(name, marks=pytest.mark.promise("J19", name), id=name) for name in ("none", "parallel")
]
EACH: list[Any] = [pytest.param(name, marks=pytest.mark.promise("J19", name), id=name) for name in MODES]
SHORT = 0.03
"""Seconds in which what must not happen would have happened."""


def after(first: threading.Event, second: threading.Event) -> None:
    assert first.wait(5)
    second.set()


def mixed(kinds: dict[str, str]) -> str:
    return "-".join(kinds.values())


@pytest.mark.promise("J19", "sequential")
@pytest.mark.parametrize("kinds", MIXES, ids=mixed)
def test_sequential(kinds: dict[str, str]) -> None:
    """SEQUENTIAL starts each tool after the previous one has finished, whatever kinds they are of."""
    desk = Desk(**kinds)
    for name, kind in kinds.items():
        if kind in ASYNCHRONOUS:
            desk.on[f"+{name}"] = partial(desk.end, name)
    consumer = desk.run(mode("sequential"))
    assert desk.steps == ["+a", "-a", "+b", "-b", "+c", "-c"]
    assert answered(consumer.events) == [["a", "b", "c"]]


@pytest.mark.promise("J19", "sequential")
@pytest.mark.parametrize("kind", ASYNCHRONOUS)
def test_sequential_waits(kind: str) -> None:
    """SEQUENTIAL starts nothing while a tool is under way, and goes on when it ends."""
    desk = Desk(a=kind, b="plain", c=kind)
    consumer = Consumer().of(desk.runner().run_async(USER, "s", "Hi", mode("sequential")))
    assert desk.started["a"].wait(5)
    assert not desk.started["b"].wait(SHORT)
    desk.end("a")
    assert desk.started["c"].wait(5)
    assert desk.steps == ["+a", "-a", "+b", "-b", "+c"]
    desk.end("c")
    assert answered(consumer.wait().events) == [["a", "b", "c"]]


@pytest.mark.parametrize("name", EAGER)
@pytest.mark.parametrize("kinds", [mix for mix in MIXES if "plain" not in mix.values()], ids=mixed)
def test_eager_ones_overlap(name: ToolExecutionMode, kinds: dict[str, str]) -> None:
    """PARALLEL and NONE start all asynchronous tools before any has ended; responses stand in call order."""
    desk = Desk(**kinds)
    met = threading.Barrier(2)
    started: list[str] = []

    def start(name: str) -> None:
        started.append(name)
        if len(started) == 3:
            met.wait(5)

    for one in "abc":
        desk.on[f"+{one}"] = partial(start, one)
    desk.end_after("c", "b", "a")
    consumer = Consumer().of(desk.runner().run_async(USER, "s", "Hi", mode(name)))
    met.wait(5)
    assert sorted(started) == ["a", "b", "c"]
    desk.end("c")
    assert answered(consumer.wait().events) == [["a", "b", "c"]]
    assert desk.steps[3:] == ["-c", "-b", "-a"]
    if set(kinds.values()) == {"single"}:
        assert desk.steps[:3] == ["+a", "+b", "+c"]
        assert set(desk.threads.values()) == consumer.threads  # subscribed on the run's thread


@pytest.mark.parametrize("name", EAGER)
def test_blocking_ones_one_after_another(name: ToolExecutionMode) -> None:
    """PARALLEL and NONE run plain functions on the run's thread, each to its end before the next one starts."""
    desk = Desk(a="plain", b="plain", c="plain")
    consumer = desk.run(mode(name))
    assert desk.steps == ["+a", "-a", "+b", "-b", "+c", "-c"]
    assert set(desk.threads.values()) == consumer.threads
    assert answered(consumer.events) == [["a", "b", "c"]]


@pytest.mark.parametrize("name", EAGER)
def test_blocking_beside_asynchronous(name: ToolExecutionMode) -> None:
    """PARALLEL and NONE: a plain function runs beside the asynchronous tool before it, and holds up the next."""
    desk = Desk(a="single", b="plain", c="single")
    desk.on["+c"] = lambda: desk.end("c")
    desk.end_after("c", "a")
    consumer = desk.run(mode(name))
    assert desk.steps == ["+a", "+b", "-b", "+c", "-c", "-a"]
    assert answered(consumer.events) == [["a", "b", "c"]]


@pytest.mark.promise("J19", "parallel_subscribe")
def test_on_workers() -> None:
    """PARALLEL_SUBSCRIBE runs each tool on a worker: blocking ones meet; responses stand in call order."""
    desk = Desk(a="plain", b="plain", c="plain")
    met = threading.Barrier(3)
    c_is_over, b_is_over = threading.Event(), threading.Event()
    for name in "abc":
        desk.on[f"+{name}"] = lambda: met.wait(5)
    desk.on["-c"] = c_is_over.set
    desk.on["-b"] = partial(after, c_is_over, b_is_over)
    desk.on["-a"] = lambda: b_is_over.wait(5)
    consumer = desk.run(mode("parallel_subscribe"))
    assert sorted(desk.steps[:3]) == ["+a", "+b", "+c"]
    assert b_is_over.is_set()
    assert len({*desk.threads.values()} | consumer.threads) == 4
    assert answered(consumer.events) == [["a", "b", "c"]]


@pytest.mark.promise("J19", "parallel_subscribe")
@pytest.mark.parametrize("kind", ASYNCHRONOUS)
def test_blocking_beside_asynchronous_on_workers(kind: str) -> None:
    """PARALLEL_SUBSCRIBE: a blocking tool holds nobody up; the asynchronous ones beside it start and end."""
    desk = Desk(a="plain", b=kind, c=kind)
    b_is_over = threading.Event()
    desk.on["+a"] = lambda: b_is_over.wait(5)
    desk.on["+c"] = lambda: desk.end("c")
    desk.end_after("c", "b")
    desk.on["-b"] = b_is_over.set
    consumer = desk.run(mode("parallel_subscribe"))
    assert desk.steps.index("-b") < desk.steps.index("-a")
    assert answered(consumer.events) == [["a", "b", "c"]]


@pytest.mark.promise("J19", "parallel_subscribe")
@pytest.mark.parametrize("beside", [[], [call("unknown")]], ids=["alone", "beside an unknown one"])
def test_a_single_call(beside: list[Any]) -> None:
    """PARALLEL_SUBSCRIBE: a call that has no other tool beside it runs on the run's thread."""
    desk = Desk(a="plain")
    model = ScriptedModel([call("a"), *beside], "Done.")
    consumer = desk.run(mode("parallel_subscribe"), model=model)
    assert set(desk.threads.values()) == consumer.threads


# -- failures ----------------------------------------------------------------------------------------------------------


def failed(desk: Desk, consumer: Consumer, runner: Any, error: Exception) -> list[str | None]:
    """What must be true of each run that failed with this error; returns the names of the calls that stay open."""
    assert (consumer.error, consumer.ends) == (error, ["error"])
    outcome = desk.outcomes.next()
    assert (outcome.kind, outcome.reason) == ("failed", type(error).__name__)
    events = log(runner)
    assert said(events)[1:] == said(consumer.events)
    left = [one.name for one in open_calls(events)]
    runner.agent.model = ScriptedModel("Back.")
    assert said(runner.run(USER, "s", "Again")) == ["agent: Back."]
    assert desk.outcomes.next().calls_sealed == len(left)
    return left


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("kind", ASYNCHRONOUS)
def test_a_failure(name: ToolExecutionMode, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that fails fails the run: finished siblings are answered in one event, the failing call and those under
    way, which are cancelled, stay open; SEQUENTIAL does not start the later ones."""
    error = ValueError("broken")
    desk = Desk(a="plain", b="single", c=kind)
    a_has_finished = threading.Event()
    plain_finish = ToolRun._finish  # its result is in: one instant after the tool and its hooks have returned

    def finish(run: ToolRun, result: Any) -> None:
        plain_finish(run, result)
        a_has_finished.set()

    monkeypatch.setattr(ToolRun, "_finish", finish)
    runner = desk.runner()
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", mode(name)))
    assert a_has_finished.wait(5)
    assert desk.started["b"].wait(5)
    if name != "sequential":
        assert desk.started["c"].wait(5)
    desk.fail("b", error)
    consumer.wait()
    assert answered(consumer.events) == [["a"]]
    assert failed(desk, consumer, runner, error) == ["b", "c"]
    assert desk.steps.count("!c") == (name != "sequential")
    assert desk.started["c"].is_set() == (name != "sequential")


@pytest.mark.parametrize("name", EAGER)
def test_a_failure_on_the_spot(name: ToolExecutionMode) -> None:
    """PARALLEL and NONE: when a tool fails while it is started, those behind it are not started."""
    error = ValueError("broken")
    desk = Desk(a="plain", b="single", c="plain")
    desk.fail("b", error)
    runner = desk.runner()
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", mode(name))).wait()
    assert desk.steps == ["+a", "-a", "+b"]
    assert failed(desk, consumer, runner, error) == ["b", "c"]


@pytest.mark.promise("J19", "parallel_subscribe")
def test_a_failure_beside_blocking_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """PARALLEL_SUBSCRIBE: a sibling's blocking code sees at once that it is cancelled, before what had finished is
    stored; it runs to its end, and its result is dropped."""
    error, stopped, seen = ValueError("broken"), threading.Event(), list[bool]()
    a_has_finished = threading.Event()
    plain_finish = ToolRun._finish

    def finish(run: ToolRun, result: Any) -> None:
        plain_finish(run, result)
        a_has_finished.set()

    monkeypatch.setattr(ToolRun, "_finish", finish)

    def slow(tool_context: Any) -> str:
        """Work until it is to stop."""
        tool_context.on_abort(stopped.set)
        assert a_has_finished.wait(5)
        desk.fail("b", error)
        assert stopped.wait(5)
        return "late"

    def look(_: Any, events: Any) -> None:
        if events[0].function_responses:
            seen.append(stopped.is_set())

    desk = Desk(a="plain", b="single")
    script = [[call("a"), call("slow"), call("b")], "never"]
    runner = runner_of(script, tools=[slow, *desk.tools], plugins=[desk.outcomes])
    watch(runner.session_service, "append_events", look)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", mode("parallel_subscribe"))).wait()
    assert seen[0] is True
    assert answered(consumer.events) == [["a"]]
    assert failed(desk, consumer, runner, error) == ["slow", "b"]


# -- calls that come in several chunks of one answer -------------------------------------------------------------------


class Chunks(BaseLlm):
    """Answers once with these calls, one final response each; goes on until the tools have come so far."""

    def __init__(self, desk: Desk, *turns: list[str], until: str) -> None:
        super().__init__("chunks")
        self._desk = desk
        self._turns = list(turns)
        self._until = until

    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
        return Blocking(self._play)

    def _play(self, scope: CancelScope) -> Iterator[LlmResponse]:
        if not self._turns:
            yield LlmResponse(content=Content.model("Done."))
            return
        for names in self._turns:
            yield LlmResponse(content=Content(role="model", parts=tuple(call(name) for name in names)))
        self._turns = []
        while self._until not in self._desk.steps:
            scope.sleep(0.001)
            yield LlmResponse(content=Content.model("."), partial=True)


@pytest.mark.promise("J19", "sequential")
def test_sequential_while_the_model_goes_on() -> None:
    """SEQUENTIAL starts the next tool when the one before has ended, though the model is not at its end."""
    desk = Desk(a="single", b="single")
    desk.on["+a"] = lambda: desk.end("a")
    model = Chunks(desk, ["a", "b"], until="+b")
    consumer = Consumer().of(desk.runner(model).run_async(USER, "s", "Hi", mode("sequential")))
    assert desk.started["b"].wait(5)
    desk.end("b")
    assert answered(consumer.wait().events) == [["a", "b"]]


@pytest.mark.promise("J19", "sequential")
def test_sequential_over_several_chunks() -> None:
    """SEQUENTIAL holds for the calls of a later chunk, too: they wait for those before."""
    desk = Desk(a="single", b="single")
    model = Chunks(desk, ["a"], ["b"], until="+a")
    consumer = Consumer().of(desk.runner(model).run_async(USER, "s", "Hi", mode("sequential")))
    assert desk.started["a"].wait(5)
    assert not desk.started["b"].wait(SHORT)
    desk.on["-a"] = lambda: desk.end("b")
    desk.end("a")
    assert desk.steps[0] == "+a"
    assert answered(consumer.wait().events) == [["a"], ["b"]]
    assert desk.steps.index("-a") < desk.steps.index("+b")


@pytest.mark.promise("J19", "none")
def test_a_model_that_fails_after_its_calls() -> None:
    """When the model fails behind its calls, the answers of those that have finished are kept; the rest is open."""
    error = ValueError("line cut")
    desk = Desk(a="plain", b="single")
    parts = (call("a"), call("b"))
    model = ScriptedModel([LlmResponse(content=Content(role="model", parts=parts)), error])
    runner = desk.runner(model)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", RunConfig())).wait()
    assert answered(consumer.events) == [["a"]]
    assert desk.steps == ["+a", "-a", "+b", "!b"]
    assert failed(desk, consumer, runner, error) == ["b"]
