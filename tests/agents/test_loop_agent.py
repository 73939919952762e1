"""LoopAgent: again and again, until one escalates."""

from __future__ import annotations

import threading

import pytest
import reactivex as rx

from rxagent.agents import LoopAgent, SequentialAgent
from rxagent.errors import ConfigError
from rxagent.events import Content, Event
from rxagent.invocation import InvocationContext
from rxagent.sessions import InMemorySessionService
from rxagent.testing import call
from rxagent.tools import exit_loop
from tests.promises.pausing import app_runner, llm, marks, run, stored
from tests.runner.driving import USER, Consumer, log

from .speakers import Doing, escalating, said, speaker


def test_as_many_rounds_as_it_may() -> None:
    """`max_iterations` rounds, each with all sub-agents."""
    loop = LoopAgent(name="loop", sub_agents=[speaker("a", "1", "2"), speaker("b")], max_iterations=2)
    assert said(loop) == [("a", "1"), ("b", "b"), ("a", "2"), ("b", "b")]


def test_an_escalation_ends_it_at_once() -> None:
    """The event that escalates is emitted; what is left of that agent, and the agents after it, are not."""
    loop = LoopAgent(name="loop", sub_agents=[speaker("a"), escalating("b"), speaker("c")])
    assert said(loop) == [("a", "a"), ("b", "up")]


def test_an_escalation_from_below_ends_it_too() -> None:
    """An escalation counts from any depth, and an inner loop's ends the outer one."""
    inner = LoopAgent(name="inner", sub_agents=[SequentialAgent(name="deep", sub_agents=[escalating("b")])])
    assert said(LoopAgent(name="outer", sub_agents=[inner, speaker("c")])) == [("b", "up")]


def test_the_end_of_the_run_ends_the_loop() -> None:
    """A loop without a limit ends when a step ends the run."""
    rounds: list[int] = []

    def third_ends(ctx: InvocationContext) -> rx.Observable[Event]:
        rounds.append(len(rounds) + 1)
        ctx.end_invocation = len(rounds) == 3
        return rx.just(Event(invocation_id=ctx.invocation_id, author="a", content=Content.model(str(rounds[-1]))))

    assert said(LoopAgent(name="loop", sub_agents=[Doing("a", third_ends)])) == [("a", "1"), ("a", "2"), ("a", "3")]


ESCALATED = ["loop -> pipe 0", "pipe -> writer", "writer: call(exit_loop)", "writer: response(exit_loop)"]


@pytest.mark.promise("J32")
@pytest.mark.parametrize(
    ("shown", "rest"),
    [
        (4, ["writer end", "pipe -> reader", "reader: Read.", "reader end", "pipe end", "loop end"]),
        (6, ["reader: Read.", "reader end", "pipe end", "loop end"]),
    ],
    ids=["at once", "later in a sequence"],
)
def test_an_escalation_counts_for_who_resumes(shown: int, rest: list[str]) -> None:
    """Cut after an escalation, and before the sub-agent has ended, a loop makes no further round when it is resumed."""
    service = InMemorySessionService()

    def loop() -> LoopAgent:
        writer = llm("writer", [call("exit_loop")], [call("exit_loop")], tools=[exit_loop])
        pipe = SequentialAgent(name="pipe", sub_agents=[writer, llm("reader", ["Read."])])
        return LoopAgent(name="loop", sub_agents=[pipe, llm("never")])

    def on_next(_: Event) -> None:
        if len(consumer.events) == shown:
            consumer.dispose()
            left.set()

    left, consumer = threading.Event(), Consumer(on_next)
    consumer.of(app_runner(loop(), service).run_async(USER, "s", "Go"))
    assert left.wait(5)
    runner = app_runner(loop(), service)
    assert stored(runner) == ["user: Go", *ESCALATED, *["writer end", "pipe -> reader"][: shown - 4]]
    assert marks(run(runner, invocation_id=log(runner)[0].invocation_id)) == rest


@pytest.mark.parametrize("loop", [LoopAgent(name="loop"), LoopAgent(name="loop", max_iterations=0)], ids=repr)
def test_an_empty_loop_ends(loop: LoopAgent) -> None:
    """Without sub-agents, or with no rounds, a loop is empty instead of endless."""
    assert said(loop) == []


def test_a_negative_limit_is_refused() -> None:
    """A limit below zero is an error where the loop is made."""
    with pytest.raises(ConfigError, match="give 0 or more, or None"):
        LoopAgent(name="loop", max_iterations=-1)
