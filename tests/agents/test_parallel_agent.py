"""ParallelAgent: side by side, each on a branch of its own."""

from __future__ import annotations

import threading
from typing import Literal

import pytest
import reactivex as rx
from reactivex.disposable import Disposable

from rxagent.agents import LlmAgent, ParallelAgent
from rxagent.events import Content, Event
from rxagent.invocation import InvocationContext
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel, call
from rxagent.tools import exit_loop
from tests.promises.pausing import ASK, app_runner, llm, marks, run

from .speakers import Doing, escalating, said, speaker


def test_they_run_at_the_same_time() -> None:
    """Two that wait for each other both end: each has a worker of its own."""
    both = threading.Barrier(2)

    def meeting(name: str) -> Doing:
        def meet(ctx: InvocationContext) -> rx.Observable[Event]:
            both.wait(5)
            return rx.just(Event(invocation_id=ctx.invocation_id, author=name, content=Content.model("met")))

        return Doing(name, meet)

    assert sorted(said(ParallelAgent(name="both", sub_agents=[meeting("a"), meeting("b")]))) == [
        ("a", "met"),
        ("b", "met"),
    ]


@pytest.mark.parametrize("scheduler", ["workers", "caller"])
def test_each_has_its_branch_and_sees_no_sibling(scheduler: Literal["workers", "caller"]) -> None:
    """Events carry the branch, and a sub-agent's model is told nothing of its siblings."""
    model = ScriptedModel("b")
    second = LlmAgent(name="second", model=model)
    agent = ParallelAgent(name="both", sub_agents=[speaker("first", "secret"), second], scheduler=scheduler)
    with Runner(agent) as runner:
        events = list(runner.run("me", "s", "go"))
    assert {event.author: event.branch for event in events} == {"first": "both.first", "second": "both.second"}
    assert "secret" not in str(model.calls[0].request.contents)


def test_the_caller_runs_them_in_order() -> None:
    """With scheduler "caller" they run one after another, on the run's worker."""
    threads: list[int] = []

    def noting(name: str) -> Doing:
        def note(ctx: InvocationContext) -> rx.Observable[Event]:
            threads.append(threading.get_ident())
            return rx.just(Event(invocation_id=ctx.invocation_id, author=name, content=Content.model(name)))

        return Doing(name, note)

    agent = ParallelAgent(name="both", sub_agents=[noting("a"), noting("b")], scheduler="caller")
    assert said(agent) == [("a", "a"), ("b", "b")]
    assert len(set(threads)) == 1


@pytest.mark.parametrize("way", ["error", "escalation"])
def test_what_stops_the_siblings(way: str) -> None:
    """The first error, and an escalation of a direct sub-agent, dispose the siblings."""
    waiting, left = threading.Event(), threading.Event()

    def wait(ctx: InvocationContext) -> rx.Observable[Event]:
        def subscribe(observer: object, scheduler: object) -> Disposable:
            waiting.set()
            return Disposable(left.set)

        return rx.create(subscribe)

    def fail(ctx: InvocationContext) -> rx.Observable[Event]:
        assert waiting.wait(5)
        return rx.throw(OSError("disk")) if way == "error" else escalating("a").run_async_impl(ctx)

    with Runner(ParallelAgent(name="both", sub_agents=[Doing("b", wait), Doing("a", fail)])) as runner:
        if way == "error":
            with pytest.raises(OSError, match="disk"):
                list(runner.run("me", "s", "go"))
        else:
            assert [event.text for event in runner.run("me", "s", "go")] == ["up"]
    assert left.is_set()


def test_an_escalation_ends_the_wait_for_a_paused_sibling() -> None:
    """In a resumable app a parallel agent waits for one that has paused; after a sibling's escalation it is done."""

    def both(second: LlmAgent) -> list[str]:
        first = llm("a", [call("ask", question="?")], tools=[ASK])
        agent = ParallelAgent(name="both", sub_agents=[first, second], scheduler="caller")
        return marks(run(app_runner(agent), "go"))

    assert both(llm("b", ["b"])) == ["both {}", "a: call(ask)", "b: b", "b end"]
    escalates = ["b: call(exit_loop)", "b: response(exit_loop)"]
    assert both(llm("b", [call("exit_loop")], tools=[exit_loop])) == ["both {}", "a: call(ask)", *escalates, "both end"]
