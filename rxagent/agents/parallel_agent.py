"""ParallelAgent: its sub-agents side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, final

import reactivex as rx
from reactivex import Observable
from reactivex import operators as ops

from rxagent.events import Event
from rxagent.invocation import InvocationContext
from rxagent.streams import Mailbox, Parallel

from .base import BaseAgent, names_below
from .callbacks import OneOrMany
from .rehydration import has_escalated

__all__ = ["ParallelAgent"]


@final
class ParallelAgent(BaseAgent):
    """Runs its sub-agents side by side, each on a worker and a branch of its own (`parallel.name`).

    ::

        web      --a-----b|
        papers   ----c-----d|
        agent    --a-c---b-d|

    Siblings do not see each other's events. A sub-agent goes on when its event is stored; partial ones do not wait.
    The first error stops the siblings, and so does an escalation by a direct sub-agent (ADK Java 1.11).
    scheduler: "workers", or "caller": one after another on the run's worker, still each on a branch of its own.
    """

    def __init__(
        self,
        *,
        name: str,
        sub_agents: Iterable[BaseAgent] = (),
        scheduler: Literal["workers", "caller"] = "workers",
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
        self.scheduler = scheduler

    def run_async_impl(self, ctx: InvocationContext) -> Observable[Event]:
        """The branches, joined. Disposal: stops them all. Errors: the first. Threads: the run's worker."""
        branch = f"{ctx.branch}.{self.name}" if ctx.branch else self.name

        def flow(agent: BaseAgent) -> Callable[[Mailbox], Observable[Event]]:
            return lambda mailbox: agent.run_async(ctx.derived(mailbox=mailbox, branch=branch))

        def one_by_one() -> Iterator[Observable[Event]]:
            for agent in self.sub_agents:
                if ctx.end_invocation:
                    return
                yield flow(agent)(ctx.mailbox)

        names = {agent.name for agent in self.sub_agents}
        joined: Observable[Event] = (
            rx.defer(lambda _: rx.concat_with_iterable(one_by_one()))
            if self.scheduler == "caller"
            else Parallel(ctx.mailbox, ctx.ledger, [flow(agent) for agent in self.sub_agents])
        )

        def release() -> None:
            if ctx.invocation.progress is not None:
                ctx.invocation.progress.release(names_below(self.sub_agents))

        def goes_on(event: Event) -> bool:
            escalates = bool(event.actions.escalate and event.author in names)
            if escalates:
                release()
            return not escalates

        joined = joined.pipe(ops.take_while(goes_on, inclusive=True))
        if not ctx.is_resumable:
            return joined
        if ctx.agent_state is not None:
            if not has_escalated(self, ctx, names):
                return joined
            release()
            return rx.empty()
        return rx.concat(self._checkpoint(ctx, {}, *self.sub_agents), joined)
