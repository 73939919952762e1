"""SequentialAgent: its sub-agents one after another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import reactivex as rx
from reactivex import Observable

from rxagent.events import Event
from rxagent.invocation import InvocationContext

from .base import BaseAgent
from .older_flow import PauseSeen, author_of_answered_call
from .rehydration import CURRENT_SUB_AGENT

__all__ = ["SequentialAgent"]


@final
class SequentialAgent(BaseAgent):
    """Runs its sub-agents in order; the next one starts when the events of the one before are stored.

    ::

        first    --a--b|
        second           --c|
        agent    --a--b----c|

    An error stops the rest; an escalation does not. Without sub-agents it is empty (ADK Java, SequentialAgent).
    """

    def ends_with(self, event: Event) -> bool:
        """True when the last sub-agent has said its last."""
        return bool(self.sub_agents) and self.sub_agents[-1].ends_with(event)

    def run_async_impl(self, ctx: InvocationContext) -> Observable[Event]:
        """The sub-agents' events. Disposal: stops the one that runs. Errors: theirs. Threads: the run's worker."""
        if ctx.is_resumable:
            return rx.defer(lambda _: rx.concat_with_iterable(self._resumable(ctx)))
        paused = PauseSeen()

        def runs() -> Iterator[Observable[Event]]:
            for agent in self.sub_agents[self._asked_place(ctx) :]:
                if ctx.end_invocation or paused.is_seen:
                    return
                stream = agent.run_async(ctx)
                yield stream.pipe(paused.watching()) if ctx.pauses_as_before else stream

        return rx.defer(lambda _: rx.concat_with_iterable(runs()))

    def _resumable(self, ctx: InvocationContext) -> Iterator[Observable[Event]]:
        """A checkpoint before each sub-agent, except the one that is resumed; it stops behind one that waits."""
        current = (ctx.agent_state or {}).get(CURRENT_SUB_AGENT)
        place = next((place for place, agent in enumerate(self.sub_agents) if agent.name == current), 0)
        for agent in self.sub_agents[place:]:
            if ctx.end_invocation:
                return
            if agent.name != current:
                yield self._checkpoint(ctx, {CURRENT_SUB_AGENT: agent.name}, agent)
            current = None
            yield agent.run_async(ctx)
            if ctx.invocation.progress is not None and ctx.invocation.progress.is_at_work(agent.name):
                return

    def _asked_place(self, ctx: InvocationContext) -> int:
        """In ADK's older flow: the member below which the call stands that the newest message answers."""
        asked = author_of_answered_call(ctx.session.events) if ctx.pauses_as_before else None
        found = (place for place, agent in enumerate(self.sub_agents) if asked and agent.find_agent(asked) is not None)
        return next(found, 0)
