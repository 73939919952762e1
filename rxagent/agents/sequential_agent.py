"""SequentialAgent: its sub-agents one after another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import reactivex as rx
from reactivex import Observable

from rxagent.events import Event
from rxagent.invocation import InvocationContext

from .base import BaseAgent

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

        def runs() -> Iterator[Observable[Event]]:
            for agent in self.sub_agents:
                if ctx.end_invocation:
                    return
                yield agent.run_async(ctx)

        return rx.defer(lambda _: rx.concat_with_iterable(runs()))
