"""The loop of an agent that asks a model: step after step, until one ends it."""

from __future__ import annotations

from collections.abc import Generator

from rxagent.events import Event
from rxagent.invocation import InvocationContext
from rxagent.streams import CancelScope, Emit

from .asking_agent import AskingAgent
from .call_ids import CallIds
from .model_turn import ModelTurn
from .output import saving_output
from .transfer import Transfer

__all__ = ["run_llm_flow"]


def run_llm_flow(
    agent: AskingAgent, context: InvocationContext, emit: Emit[Event], scope: CancelScope
) -> Generator[Transfer, Event | None, None]:
    """Steps, flat on this worker: the next one begins when the events of the one before are stored.

    It yields where another agent is to take over, and is sent that one's last event, which then counts as the step's.
    It ends with a step whose last event is final, that emits nothing, or during which the run was asked to end, and
    after the agent's `max_steps`.
    """
    digest = context.invocation.digest
    emit = saving_output(agent, emit)
    steps = 0
    with context.invocation.soft_stop.loop() as may_step:
        while not context.end_invocation:
            may_step(scope)
            events = context.session.events
            digest.follow(events)
            turn = ModelTurn(agent, context, emit, scope, CallIds(digest.call_ids))
            yield from turn.run(digest.history(agent.name, context.branch, events))
            last = turn.last
            steps += 1
            if last is None or last.final_response() or last.actions.end_of_agent or steps == agent.max_steps:
                return
