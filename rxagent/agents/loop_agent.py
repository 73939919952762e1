"""LoopAgent: its sub-agents again and again."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import final

import reactivex as rx
from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import ConfigError
from rxagent.events import Event
from rxagent.invocation import InvocationContext

from .base import BaseAgent
from .callbacks import OneOrMany
from .older_flow import PauseSeen
from .rehydration import CURRENT_SUB_AGENT, TIMES_LOOPED, has_escalated

__all__ = ["LoopAgent"]


@final
class LoopAgent(BaseAgent):
    """Repeats its sub-agents until one escalates, or `max_iterations` rounds are done (None: no limit).

    ::

        writer   --a|        --c|
        critic       --b|        --d!            d escalates
        agent    --a---b---c----d|

    The event that escalates is emitted, then the loop completes and what is left of that sub-agent is disposed. An
    escalation from any depth counts; so an inner loop's ends the outer one, too (ADK Java, LoopAgent).

    Raises ConfigError for a negative `max_iterations`; 0 is an empty loop.
    """

    def __init__(
        self,
        *,
        name: str,
        sub_agents: Iterable[BaseAgent] = (),
        max_iterations: int | None = None,
        description: str = "",
        before_agent_callback: OneOrMany = None,
        after_agent_callback: OneOrMany = None,
    ) -> None:
        super().__init__(
            name=name,
            description=description,
            sub_agents=sub_agents,
            before_agent_callback=before_agent_callback,
            after_agent_callback=after_agent_callback,
        )
        if max_iterations is not None and max_iterations < 0:
            raise ConfigError(
                f"loop {name!r}: max_iterations is {max_iterations}; give 0 or more, or None for no limit"
            )
        self.max_iterations = max_iterations

    def run_async_impl(self, ctx: InvocationContext) -> Observable[Event]:
        """The rounds. Disposal: stops the sub-agent that runs. Errors: theirs. Threads: the run's worker."""
        if ctx.is_resumable:
            return rx.defer(lambda _: rx.concat_with_iterable(self._resumable(ctx)))
        paused = PauseSeen()

        def rounds() -> Iterator[Observable[Event]]:
            for _ in self._rounds(0):
                for agent in self.sub_agents:
                    if ctx.end_invocation or paused.is_seen:
                        return
                    stream = agent.run_async(ctx)
                    yield stream.pipe(paused.watching()) if ctx.pauses_as_before else stream

        every_round: Observable[Event] = rx.defer(lambda _: rx.concat_with_iterable(rounds()))
        return every_round.pipe(ops.take_while(_goes_on, inclusive=True))

    def _rounds(self, first: int) -> Iterator[int]:
        if not self.sub_agents:
            return iter(())
        return itertools.count(first) if self.max_iterations is None else iter(range(first, self.max_iterations))

    def _resumable(self, ctx: InvocationContext) -> Iterator[Observable[Event]]:
        """A checkpoint before each sub-agent, except the one that is resumed; it stops behind one that waits.

        A sub-agent that escalates runs to its end before the loop does, so that a later request knows that it has.
        """
        state = ctx.agent_state or {}
        current = state.get(CURRENT_SUB_AGENT)
        place = next((place for place, agent in enumerate(self.sub_agents) if agent.name == current), 0)
        escalated = [True] if current is not None and has_escalated(self, ctx) else []

        def look(event: Event) -> None:
            if event.actions.escalate:
                escalated.append(True)

        for times in self._rounds(state.get(TIMES_LOOPED, 0)):
            for agent in self.sub_agents[place:]:
                if ctx.end_invocation:
                    return
                if current is None:
                    yield self._checkpoint(ctx, {CURRENT_SUB_AGENT: agent.name, TIMES_LOOPED: times}, agent)
                current = None
                yield agent.run_async(ctx).pipe(ops.do_action(look))
                if escalated or (ctx.invocation.progress and ctx.invocation.progress.is_at_work(agent.name)):
                    return
            place = 0


def _goes_on(event: Event) -> bool:
    return not event.actions.escalate
