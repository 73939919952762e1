"""Driver: an agent that asks a model, and those it hands over to, as one flat piece of work."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, Protocol, TypeAlias, cast, final, runtime_checkable

from reactivex import Observable

from rxagent.errors import RunError
from rxagent.events import Event
from rxagent.flow.resuming import ResumePoint
from rxagent.flow.transfer import Transfer
from rxagent.invocation import Agent, InvocationContext, is_checkpoint
from rxagent.streams import CancelScope, Emit, Mailbox

from .base import BaseAgent, names_below
from .trail import Trail

__all__ = ["Activation", "Frames", "Handing", "drive"]

Frames: TypeAlias = Generator[Transfer, Event | None, None]
"""An agent at work: it yields where another agent is to take over, and is sent that one's last event."""


@final
class Activation:
    """An agent's turn at work in a chain of hand-overs.

    point: where an earlier run has left it; None for new work.
    """

    __slots__ = ("_is_held", "context", "point")

    def __init__(self, context: InvocationContext, point: ResumePoint | None) -> None:
        self.context = context
        self.point = point
        self._is_held = False

    def hold(self) -> None:
        """It, or an agent that took over from it, still waits for an answer: its work is not done."""
        self._is_held = True

    def is_held(self) -> bool:
        """True once it was held."""
        return self._is_held


@runtime_checkable
class Handing(Protocol):
    """An agent whose work is a Frames: it may hand over in the middle. An LlmAgent is one."""

    @property
    def name(self) -> str: ...

    def entered(self, parent: InvocationContext) -> InvocationContext: ...

    def frames(self, activation: Activation, emit: Emit[Event], scope: CancelScope) -> Frames: ...


def drive(agent: Handing, parent: InvocationContext, emit: Emit[Event], scope: CancelScope) -> None:
    """Run the agent, and whatever it hands over to, on this worker.

        root    -call-------------------------- |
        kid           -call------------- |
        pets                -answer|

    A hand-over keeps the agents before it waiting in a list, not on the stack: a chain of any length is flat. The
    one that handed over goes on when the other has ended, and may ask its model again. When an invocation is resumed,
    the chain that its log shows is entered again.

    Raises RunError for a name that the tree does not have (ADK Java).
    """
    chain = _Chain(emit, scope)
    try:
        chain.run(agent, parent)
    finally:
        chain.close()


@final
class _Chain:
    """The agents at work, one having handed over to the next."""

    __slots__ = ("_emit", "_frames", "_last", "_points", "_scope")

    def __init__(self, emit: Emit[Event], scope: CancelScope) -> None:
        self._emit = emit
        self._scope = scope
        self._frames: list[tuple[Frames, Activation]] = []
        self._points: list[ResumePoint] = []  # of the agents that are entered again; few
        self._last: Event | None = None

    def run(self, agent: Handing, parent: InvocationContext) -> None:
        self._enter_again(agent, parent)
        if not self._enter(agent, parent, self._emitting):
            return
        answer: Event | None = None
        while self._frames:
            frame, activation = self._frames[-1]
            try:
                transfer = frame.send(answer)
            except StopIteration:
                self._leave()
                answer = self._last
                continue
            answer = None
            if not activation.context.end_invocation:
                answer = self._hand_over(transfer, activation)

    def close(self) -> None:
        for frame, _ in reversed(self._frames):
            frame.close()

    def _emitting(self, event: Event) -> None:
        if not is_checkpoint(event):
            self._last = event
        self._emit(event)

    def _enter_again(self, agent: Handing, parent: InvocationContext) -> None:
        """Where an earlier run has left the agents of this chain."""
        progress, invocation = parent.invocation.progress, parent.invocation
        standing = progress.begin(agent.name) if progress is not None else None
        if standing is None:
            return
        if standing.has_finished:
            self._points.append(_FINISHED)
            return
        branch = agent.entered(parent).branch
        trail = Trail(agent.name, invocation.digest.events_of(invocation.id, invocation.session.events), branch)
        below = [*trail.agents[1:], None]
        self._points.extend(map(ResumePoint, below, trail.lasts))

    def _enter(self, agent: Handing, above: InvocationContext, emit: Emit[Event]) -> bool:
        point = self._points.pop(0) if self._points else None
        if point is _FINISHED:
            return False
        activation = Activation(agent.entered(above), point)
        self._frames.append((agent.frames(activation, emit, self._scope), activation))
        return True

    def _leave(self) -> None:
        _, left = self._frames.pop()
        self._points.clear()
        progress, agent = left.context.invocation.progress, left.context.agent
        if progress is None:
            return
        if left.is_held():
            progress.hold(agent.name)
            if self._frames:
                self._frames[-1][1].hold()

    def _hand_over(self, transfer: Transfer, by: Activation) -> Event | None:
        context = by.context
        target = _target(context.agent, transfer.agent_name)
        progress = context.invocation.progress
        if progress is not None and not self._points:
            progress.forget(names_below((target,)))  # new work, whatever it did before
        if isinstance(target, Handing):
            if progress is not None:
                progress.begin(target.name)
            self._enter(target, context, transfer.emit)
            return None
        self._points.clear()
        self._last = None
        _serve(target, context, transfer.emit, self._scope)
        if progress is not None and progress.is_at_work(target.name):
            by.hold()
        return self._last


_FINISHED: Final = ResumePoint()


def _target(agent: Agent, name: str) -> BaseAgent:
    root = cast(BaseAgent, agent).root_agent
    target = root.find_agent(name)
    if target is None:
        raise RunError(f"Agent not found: {name}; the agents of this tree are {', '.join(_names(root))}")
    return target


def _names(agent: BaseAgent) -> list[str]:
    return [agent.name, *(name for sub in agent.sub_agents for name in _names(sub))]


def _serve(agent: BaseAgent, context: InvocationContext, emit: Emit[Event], scope: CancelScope) -> None:
    """Run an agent that is an Observable of its own kind, on this worker, through a mailbox of its own."""
    mailbox = Mailbox(scope)
    errors: list[Exception] = []

    def end(error: Exception | None = None) -> None:
        if error is not None:
            errors.append(error)
        mailbox.end()

    def start() -> None:
        stream: Observable[Event] = agent.run_async(context.derived(mailbox=mailbox))
        handle = stream.subscribe(
            lambda event: mailbox.relay(emit, event),
            lambda error: mailbox.relay(end, error),
            lambda: mailbox.relay(end, None),
        )
        scope.on_cancel(handle.dispose)

    mailbox.serve(start)
    if errors:
        raise errors[0]
