"""Handing the conversation over to another agent: what the model is told, and the tool that it calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from rxagent.events import Event
from rxagent.models import LlmRequest
from rxagent.streams import Emit
from rxagent.tools import CallContext, FunctionTool

__all__ = ["TRANSFER_TOOL", "Transfer", "TransferTarget", "offer_transfer"]


class Transfer(NamedTuple):
    """A hand-over that was asked for. emit: where the other agent's events go, through the one that hands over."""

    agent_name: str
    emit: Emit[Event]


class TransferTarget(NamedTuple):
    """An agent that may take over. `is_parent`: the one to turn to when nobody fits."""

    name: str
    description: str
    is_parent: bool = False


def transfer_to_agent(agent_name: str, tool_context: CallContext) -> None:
    """Hand the question over to another agent.

    Args:
        agent_name: The name of the agent that takes over.
    """
    tool_context.actions.transfer_to_agent = agent_name


TRANSFER_TOOL: Final = FunctionTool(transfer_to_agent)


def offer_transfer(request: LlmRequest, targets: Sequence[TransferTarget]) -> None:
    """Tell the model of the agents that may take over, and offer the tool; nothing when there is none."""
    if not targets:
        return
    listed = "\n".join(f"- {one.name}: {one.description}" if one.description else f"- {one.name}" for one in targets)
    lines = [
        "Other agents can take over this conversation:",
        listed,
        "Answer yourself when your description fits the question best. When another agent's fits better, call "
        "`transfer_to_agent` with its name, and say nothing else. No other names are known than "
        f"{', '.join(f'`{name}`' for name in sorted(one.name for one in targets))}.",
    ]
    parent = next((one.name for one in targets if one.is_parent), None)
    if parent is not None:
        lines.append(f"When the question fits nobody, hand it over to your parent, `{parent}`.")
    request.append_instructions(("\n\n".join(lines),))
    request.append_tools((TRANSFER_TOOL,))
