"""Driver: an agent that asks a model, and those it hands over to, as one flat piece of work."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol, TypeAlias, cast, runtime_checkable

from reactivex import Observable

from rxagent.errors import RunError
from rxagent.events import Event
from rxagent.flow.transfer import Transfer
from rxagent.invocation import Agent, InvocationContext
from rxagent.streams import CancelScope, Emit, Mailbox

from .base import BaseAgent

__all__ = ["Frames", "Handing", "drive"]

Frames: TypeAlias = Generator[Transfer, Event | None, None]
"""An agent at work: it yields where another agent is to take over, and is sent that one's last event."""


@runtime_checkable
class Handing(Protocol):
    """An agent whose work is a Frames: it may hand over in the middle. An LlmAgent is one."""

    def entered(self, parent: InvocationContext) -> InvocationContext: ...

    def frames(self, ctx: InvocationContext, emit: Emit[Event], scope: CancelScope) -> Frames: ...


def drive(agent: Handing, parent: InvocationContext, emit: Emit[Event], scope: CancelScope) -> None:
    """Run the agent, and whatever it hands over to, on this worker.

        root    -call-------------------------- |
        kid           -call------------- |
        pets                -answer|

    A hand-over keeps the agents before it waiting in a list, not on the stack: a chain of any length is flat. The
    one that handed over goes on when the other has ended, and may ask its model again.

    Raises RunError for a name that the tree does not have (ADK Java).
    """
    last: list[Event] = []

    def emitting(event: Event) -> None:
        last[:] = [event]
        emit(event)

    frames: list[tuple[Frames, InvocationContext]] = []

    def enter(entered: Handing, above: InvocationContext, through: Emit[Event]) -> None:
        context = entered.entered(above)
        frames.append((entered.frames(context, through, scope), context))

    enter(agent, parent, emitting)
    answer: Event | None = None
    try:
        while frames:
            frame, context = frames[-1]
            try:
                transfer = frame.send(answer)
            except StopIteration:
                frames.pop()
                answer = last[0] if last else None
                continue
            answer = None
            if context.end_invocation:
                continue
            target = _target(context.agent, transfer.agent_name)
            if isinstance(target, Handing):
                enter(target, context, transfer.emit)
            else:
                last.clear()
                _serve(target, context, transfer.emit, scope)
                answer = last[0] if last else None
    finally:
        for frame, _ in reversed(frames):
            frame.close()


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
