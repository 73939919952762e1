"""Rehydration: where the agents of an invocation stand, by its events (ADK Java, populateInvocationAgentStates)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from rxagent.errors import AgentTreeChangedError
from rxagent.events import Event
from rxagent.invocation import InvocationContext, Progress, Standing

from .base import BaseAgent, names_below

__all__ = ["CURRENT_SUB_AGENT", "TIMES_LOOPED", "has_escalated", "rehydrated"]

CURRENT_SUB_AGENT = "current_sub_agent"
TIMES_LOOPED = "times_looped"

_NOBODY = ("user", "model")  # authors that are no agents


def rehydrated(root: BaseAgent, events: Sequence[Event]) -> Progress:
    """The progress of the invocation that these events are.

    An event without content that marks an end: finished. A checkpoint: open, with that state; whom it names starts
    over. Any other event with content: open, also when it comes after an end.
    Raises AgentTreeChangedError for an agent that is to go on and is not in the tree.
    """
    standings: dict[str, Standing] = {}
    handed_over: dict[str, str] = {}
    for event in events:
        author, actions = event.author or "", event.actions
        if not author or author in _NOBODY:
            continue
        if event.content is None and actions.end_of_agent:
            standings[author] = Standing(True, {})
            handed_over = {by: to for by, to in handed_over.items() if author not in (by, to)}
        elif event.content is None and actions.agent_state is not None:
            for name in _restarted(root.find_agent(author), actions.agent_state):
                standings.pop(name, None)
            standings[author] = Standing(False, actions.agent_state)
        elif event.parts:
            standing = standings.get(author)
            if standing is None or standing.has_finished:
                standings[author] = Standing(False, {})
            if actions.transfer_to_agent:
                handed_over[author] = actions.transfer_to_agent
    _check(root, standings, handed_over.values())
    return Progress(standings)


def has_escalated(agent: BaseAgent, ctx: InvocationContext, by: Container[str] | None = None) -> bool:
    """True when the log has an escalation in the work of this resumed agent, since its last checkpoint.

    by: the authors whose escalation counts; None: all below it.
    """
    invocation = ctx.invocation
    for event in reversed(invocation.digest.events_of(invocation.id, invocation.session.events)):
        if event.author == agent.name and event.actions.agent_state is not None:
            return False
        if event.actions.escalate and (by is None or event.author in by):
            return True
    return False


def _restarted(agent: BaseAgent | None, state: object) -> list[str]:
    if agent is None:
        return []
    name = state.get(CURRENT_SUB_AGENT) if isinstance(state, dict) else None
    return list(names_below(sub for sub in agent.sub_agents if name is None or sub.name == name))


def _check(root: BaseAgent, standings: dict[str, Standing], handed_over: Iterable[str]) -> None:
    for name, standing in standings.items():
        if standing.has_finished:
            continue
        agent = root.find_agent(name)
        if agent is None:
            raise _missing(name, root)
        current = standing.state.get(CURRENT_SUB_AGENT)
        if current is not None and current not in [sub.name for sub in agent.sub_agents]:
            raise _missing(str(current), agent)
    for name in handed_over:
        if root.find_agent(name) is None:
            raise _missing(name, root)


def _missing(name: str, tree: BaseAgent) -> AgentTreeChangedError:
    return AgentTreeChangedError(
        f"Agent {name!r} is to go on, and is no longer below {tree.name!r}; resume with the agents that the run was "
        "paused with, or send a new message",
        agent_name=name,
    )
