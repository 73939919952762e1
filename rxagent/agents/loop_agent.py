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

        def rounds() -> Iterator[Observable[Event]]:
            counted = itertools.count() if self.max_iterations is None else range(self.max_iterations)
            for _ in counted if self.sub_agents else ():
                for agent in self.sub_agents:
                    if ctx.end_invocation:
                        return
                    yield agent.run_async(ctx)

        every_round: Observable[Event] = rx.defer(lambda _: rx.concat_with_iterable(rounds()))
        return every_round.pipe(ops.take_while(_goes_on, inclusive=True))


def _goes_on(event: Event) -> bool:
    return not event.actions.escalate
