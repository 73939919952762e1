"""SequentialAgent: one after another."""

from __future__ import annotations

import pytest
import reactivex as rx

from rxagent.agents import SequentialAgent
from rxagent.events import Content, Event
from rxagent.invocation import InvocationContext
from rxagent.runner import Runner

from .speakers import Doing, escalating, said, speaker


def test_in_order_each_sees_the_one_before() -> None:
    """The sub-agents speak in order, and the log of the first is there when the second begins."""
    seen: list[str] = []

    def look(ctx: InvocationContext) -> rx.Observable[Event]:
        seen.extend(event.text for event in ctx.session.events)
        return rx.just(Event(invocation_id=ctx.invocation_id, author="second", content=Content.model("b")))

    agent = SequentialAgent(name="pipe", sub_agents=[speaker("first", "a"), Doing("second", look)])
    assert said(agent) == [("first", "a"), ("second", "b")]
    assert seen == ["go", "a"]


def test_an_escalation_does_not_stop_the_rest() -> None:
    """Only a loop ends at an escalation."""
    agent = SequentialAgent(name="pipe", sub_agents=[escalating("first"), speaker("second")])
    assert [author for author, _ in said(agent)] == ["first", "first", "second"]


def test_an_error_stops_the_rest() -> None:
    """An error of one is the run's, and the next one never starts."""
    started: list[str] = []

    def second(ctx: InvocationContext) -> rx.Observable[Event]:
        started.append("second")
        return rx.empty()

    broken = Doing("first", lambda ctx: rx.throw(OSError("disk")))
    agent = SequentialAgent(name="pipe", sub_agents=[broken, Doing("second", second)])
    with Runner(agent) as runner, pytest.raises(OSError, match="disk"):
        list(runner.run("me", "s", "go"))
    assert started == []


def test_an_end_of_the_run_skips_the_rest() -> None:
    """Once a step has ended the run, the agents that have not begun stay out."""

    def ending(ctx: InvocationContext) -> rx.Observable[Event]:
        ctx.end_invocation = True
        return rx.just(Event(invocation_id=ctx.invocation_id, author="first", content=Content.model("enough")))

    agent = SequentialAgent(name="pipe", sub_agents=[Doing("first", ending), speaker("second")])
    assert said(agent) == [("first", "enough")]


def test_without_sub_agents_it_is_empty() -> None:
    """A sequence of nothing says nothing, and ends."""
    assert said(SequentialAgent(name="pipe")) == []
