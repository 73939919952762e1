"""BaseAgent: what every agent is."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Final

import reactivex as rx
from reactivex import Observable

from rxagent.errors import ConfigError
from rxagent.events import Content, Event, EventActions
from rxagent.invocation import CallbackContext, InvocationContext
from rxagent.plugins import first, wrong_answer
from rxagent.streams import CancelScope, Emit, Work

from .callbacks import Callback, OneOrMany, callbacks

__all__ = ["BaseAgent", "names_below"]

_NAME: Final = re.compile(r"_?[a-zA-Z0-9]*([. _-][a-zA-Z0-9]+)*")


class BaseAgent(ABC):
    """A named node of the agent tree. Subclasses implement `run_async_impl`.

    sub_agents: the agents below it; each belongs to one parent.
    before_agent_callback(ctx): a Content is the agent's reply, and the agent is skipped.
    after_agent_callback(ctx): a Content is a further event. Each is one callback or a list; the first value wins.

    Raises ConfigError for a name that is empty, `user`, or malformed (ADK Java, BaseAgent), for two sub-agents of one
    name, and for one that has a parent already.
    """

    def __init__(
        self,
        *,
        name: str,
        description: str = "",
        sub_agents: Iterable[BaseAgent] = (),
        before_agent_callback: OneOrMany = None,
        after_agent_callback: OneOrMany = None,
    ) -> None:
        if not name:
            raise ConfigError("Agent name cannot be null or empty")
        if name == "user":
            raise ConfigError("Agent name cannot be 'user'; reserved for end-user input")
        if not _NAME.fullmatch(name):
            raise ConfigError(f"Agent name {name!r} does not match regex {_NAME.pattern!r}")
        self._name = name
        self._description = description
        self.before_agent_callbacks: tuple[Callback, ...] = callbacks("before_agent_callback", before_agent_callback)
        self.after_agent_callbacks: tuple[Callback, ...] = callbacks("after_agent_callback", after_agent_callback)

        self.parent_agent: BaseAgent | None = None
        self.sub_agents: tuple[BaseAgent, ...] = self._adopted(sub_agents)

    def _adopted(self, agents: Iterable[BaseAgent]) -> tuple[BaseAgent, ...]:
        adopted = tuple(agents)
        names = [agent.name for agent in adopted]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(f"Agent named {self.name!r} has sub-agents with duplicate names: {', '.join(twice)}")
        for agent in adopted:
            if agent.parent_agent is not None:
                raise ConfigError(
                    f"agent {agent.name!r} is a sub-agent of {agent.parent_agent.name!r} already; make another one"
                )
            agent.parent_agent = self
        return adopted

    @property
    def root_agent(self) -> BaseAgent:
        """The top of the tree that this agent stands in."""
        agent = self
        while agent.parent_agent is not None:
            agent = agent.parent_agent
        return agent

    def find_agent(self, name: str) -> BaseAgent | None:
        """The agent of that name in this tree, this one included; the first one, depth first."""
        if self.name == name:
            return self
        return next((found for agent in self.sub_agents if (found := agent.find_agent(name)) is not None), None)

    @property
    def name(self) -> str:
        """The author of the agent's events."""
        return self._name

    @property
    def description(self) -> str:
        """What other agents are told of it."""
        return self._description

    def ends_with(self, event: Event) -> bool:
        """True when this stored event is the last that the agent has to say: then it can no longer be aborted."""
        return False

    @abstractmethod
    def run_async_impl(self, ctx: InvocationContext) -> Observable[Event]:
        """The agent's own events, as a cold Observable; any thread may emit, a run brings them to its worker."""

    def run_async(self, parent_context: InvocationContext) -> Observable[Event]:
        """The agent with its callbacks: before, the agent, after.

        Disposal: stops the agent. Errors: its own and those of the callbacks. Threads: the run's worker.
        """
        ctx = self.entered(parent_context)

        def stages() -> Iterator[Observable[Event]]:
            if self._has_finished(ctx):
                return
            skipped: list[bool] = []
            yield Work(ctx.mailbox, lambda emit, scope: skipped.append(self._before(ctx, emit, scope)))
            if not skipped[0]:
                yield self.run_async_impl(ctx)
                yield Work(ctx.mailbox, lambda emit, scope: self._after(ctx, emit, scope))
            if ctx.is_resumable:
                yield Work(ctx.mailbox, lambda emit, scope: self._end(ctx, emit))

        return rx.defer(lambda _: rx.concat_with_iterable(stages()))

    def entered(self, parent: InvocationContext) -> InvocationContext:
        """The agent's own context, below its parent's."""
        branch = f"{parent.branch}.{self.name}" if parent.branch else None
        return parent.derived(agent=self, branch=branch)

    def _has_finished(self, ctx: InvocationContext) -> bool:
        """Begin; true when this agent has finished its work in an earlier run of a resumed invocation."""
        progress = ctx.invocation.progress
        standing = progress.begin(self.name) if progress is not None else None
        if standing is not None and not standing.has_finished:
            ctx.agent_state = standing.state
        return standing is not None and standing.has_finished

    def _end(self, ctx: InvocationContext, emit: Emit[Event]) -> None:
        """Mark the end of this agent's work, unless it, or one below it, still waits for an answer."""
        progress = ctx.invocation.progress
        waits = progress is not None and any(progress.is_at_work(sub.name) for sub in self.sub_agents)
        if not waits and not ctx.pauses():
            self._mark_end(ctx, emit)

    def _mark_end(self, ctx: InvocationContext, emit: Emit[Event]) -> None:
        if ctx.invocation.progress is not None:
            ctx.invocation.progress.finish(self.name)
            emit(self._checkpoint_event(ctx, EventActions(end_of_agent=True)))

    def _checkpoint(self, ctx: InvocationContext, state: dict[str, Any], *starting: BaseAgent) -> Observable[Event]:
        """An event that tells where this agent stands: these sub-agents start, whatever they did before."""

        def body(emit: Emit[Event], scope: CancelScope) -> None:
            if ctx.invocation.progress is not None:
                ctx.invocation.progress.forget(names_below(starting))
            emit(self._checkpoint_event(ctx, EventActions(agent_state=state)))

        return Work(ctx.mailbox, body)

    def _checkpoint_event(self, ctx: InvocationContext, actions: EventActions) -> Event:
        return Event(invocation_id=ctx.invocation_id, author=self.name, branch=ctx.branch, actions=actions)

    def _before(self, ctx: InvocationContext, emit: Emit[Event], scope: CancelScope) -> bool:
        """Run the before-agent callbacks; True when the agent is skipped.

        It is when they have answered in its place, or have written state and ended the run (ADK Java); and when the
        run was ended before the agent began.
        """
        if ctx.end_invocation:
            return True
        event = self._call("before_agent_callback", self.before_agent_callbacks, ctx, emit, scope)
        return event is not None and (event.content is not None or ctx.end_invocation)

    def _after(self, ctx: InvocationContext, emit: Emit[Event], scope: CancelScope) -> None:
        self._call("after_agent_callback", self.after_agent_callbacks, ctx, emit, scope)

    def _call(
        self,
        hook: str,
        own: tuple[Callback, ...],
        ctx: InvocationContext,
        emit: Emit[Event],
        scope: CancelScope,
    ) -> Event | None:
        """Ask the plugins, then the agent's own callbacks; emits, and returns, the event that comes of it."""
        plugins = ctx.invocation.plugins
        if not own and not plugins.hooks(hook):
            return None
        scope.check()  # what came last may have been left without emitting, as by a model's completion
        callback_context = CallbackContext(ctx, scope=scope)
        content = plugins.first(hook, scope, callback_context)
        if content is None:
            content = first(own, scope, callback_context)
        if content is not None:
            content = _content(hook, content)
        elif not (callback_context.state.has_delta() or callback_context.actions.artifact_delta):
            return None
        event = Event(
            invocation_id=ctx.invocation_id,
            author=self.name,
            branch=ctx.branch,
            content=content,
            actions=callback_context.actions.copied(),
        )
        emit(event)
        return event

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


def names_below(agents: Iterable[BaseAgent]) -> Iterator[str]:
    """The names of these agents and of all below them."""
    for agent in agents:
        yield agent.name
        yield from names_below(agent.sub_agents)


def _content(hook: str, answer: object) -> Content:
    if isinstance(answer, str):
        return Content.model(answer)
    if not isinstance(answer, Content):
        raise wrong_answer(hook, answer, "a Content or a text")
    return answer
