"""Routing: which agent of a tree goes on with a session."""

from __future__ import annotations

from collections.abc import Sequence

from rxagent.events import Event
from rxagent.invocation import is_checkpoint

from .base import BaseAgent
from .llm_agent import LlmAgent
from .older_flow import author_of_answered_call
from .sequential_agent import SequentialAgent

__all__ = ["find_agent_to_run"]


def find_agent_to_run(root: BaseAgent, events: Sequence[Event], *, whole_sequences: bool = False) -> BaseAgent:
    """The agent that takes the next message (ADK Java, Runner.findAgentToRun).

    When the newest event answers a call, the agent that made the call. Else the one that spoke last, if a message may
    reach it directly: the root, or one that could hand over to its parent, and so on up to the root. Else the root.
    Checkpoints say nothing. whole_sequences: instead of the agent that made the call, the topmost of the sequences
    that it stands in, one in another (ADK's older flow).
    """
    if not root.sub_agents:
        return root
    if events and (asked := author_of_answered_call(events)) is not None:
        found = root.find_agent(asked)
        if found is not None:
            return _outermost_sequence(found) if whole_sequences else found
    for event in reversed(events):
        author = event.author
        if not author or author == "user" or is_checkpoint(event):
            continue
        if author == root.name:
            return root
        agent = root.find_agent(author)
        if agent is not None and _is_reachable(agent):
            return agent
    return root


def _outermost_sequence(agent: BaseAgent) -> BaseAgent:
    while isinstance(agent.parent_agent, SequentialAgent):
        agent = agent.parent_agent
    return agent


def _is_reachable(agent: BaseAgent) -> bool:
    """True when this agent and all above it are LlmAgents that may hand over to their parents."""
    above: BaseAgent | None = agent
    while above is not None:
        if not isinstance(above, LlmAgent) or above.disallow_transfer_to_parent:
            return False
        above = above.parent_agent
    return True
