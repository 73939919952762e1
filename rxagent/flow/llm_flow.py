"""The loop of an agent that asks a model: step after step, until one ends it."""

from __future__ import annotations

from collections.abc import Callable, Generator

from rxagent.events import Event
from rxagent.invocation import InvocationContext
from rxagent.streams import CancelScope, Emit

from .asking_agent import AskingAgent
from .call_ids import CallIds
from .model_turn import ModelTurn
from .output import saving_output
from .output_repair import OutputRepair
from .resuming import ResumePoint, has_paused, reruns, waits
from .transfer import Transfer

__all__ = ["run_llm_flow"]


def run_llm_flow(
    agent: AskingAgent,
    context: InvocationContext,
    emit: Emit[Event],
    scope: CancelScope,
    point: ResumePoint | None,
    is_held: Callable[[], bool],
) -> Generator[Transfer, Event | None, bool]:
    """Steps, flat on this worker: the next one begins when the events of the one before are stored.

    It yields where another agent is to take over, and is sent that one's last event, which then counts as the step's.
    It ends with a step whose last event is final, that emits nothing, or during which the run was asked to end, after
    the agent's `max_steps`, and where it pauses.

    point: where an earlier run has left the agent; None for new work. is_held: whether an agent that has taken over
    still waits for an answer: this one asks no more until that has come. Returns True when the agent, resumed with
    nothing new after its last word, was asked once more: then it no longer waits for calls that have an interim value.
    """
    digest = context.invocation.digest
    repair = OutputRepair(agent)
    emit = saving_output(agent, emit, repair)
    steps, asked_again, is_first = 0, False, True
    with context.invocation.soft_stop.loop() as loop:
        if point is not None and point.handed_to is not None:
            with context.invocation.soft_stop.hand_over():
                last = yield Transfer(point.handed_to, emit)
            if _ends(last) or is_held():  # None, too: it still waits, or had only its end to say
                return False
        while not context.end_invocation:
            loop.may_step(scope)
            events = context.session.events
            digest.follow(events)
            turn = ModelTurn(agent, context, emit, scope, CallIds(digest.call_ids))
            again = reruns(context, resumed=point is not None) if is_first else []
            is_first = False
            if again:
                yield from turn.rerun(again)
            elif point is not None and (waits(context) or (point.has_answered and not context.pauses())):
                return False
            else:
                asked_again = point is not None and point.has_answered
                if agent.max_steps is not None and steps + 1 >= agent.max_steps:
                    repair.give_up()
                yield from turn.run(digest.history(agent.name, context.branch, events), repair.messages())
                steps += 1
            point = None
            if not waits(context) and repair.asks_again(turn.last):
                continue
            if _ends(turn.last) or steps == agent.max_steps or waits(context) or is_held():
                return asked_again
            if context.pauses_as_before and has_paused(context):
                return False
    return asked_again


def _ends(last: Event | None) -> bool:
    return last is None or last.final_response() or bool(last.actions.end_of_agent)
