"""Small agents for trees: each says one thing, or does as it is told."""

from __future__ import annotations

from collections.abc import Callable

import reactivex as rx
from reactivex import Observable

from rxagent.agents import BaseAgent, LlmAgent
from rxagent.events import Content, Event, EventActions
from rxagent.invocation import InvocationContext
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel

__all__ = ["Doing", "escalating", "said", "speaker"]


class Doing(BaseAgent):
    """An agent whose stream is made by a function of its context."""

    def __init__(self, name: str, make: Callable[[InvocationContext], Observable[Event]]) -> None:
        super().__init__(name=name)
        self._make = make

    def run_async_impl(self, ctx: InvocationContext) -> Observable[Event]:
        return rx.defer(lambda _: self._make(ctx))


def speaker(name: str, *texts: str) -> LlmAgent:
    """An agent that says one text a turn, the last one again and again."""
    return LlmAgent(name=name, model=ScriptedModel(*(texts or (name,)), repeat_last=True))


def escalating(name: str) -> Doing:
    """An agent that escalates, then would say more."""

    def event(ctx: InvocationContext, text: str, escalate: bool | None = None) -> Event:
        return Event(
            invocation_id=ctx.invocation_id,
            author=name,
            branch=ctx.branch,
            content=Content.model(text),
            actions=EventActions(escalate=escalate),
        )

    return Doing(name, lambda ctx: rx.of(event(ctx, "up", True), event(ctx, "more")))


def said(agent: BaseAgent) -> list[tuple[str | None, str]]:
    """Author and text of each event of one run."""
    with Runner(agent) as runner:
        return [(event.author, event.text) for event in runner.run("me", "s", "go")]
