"""An agent, its agents and tools, as ADK's UI draws them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from rxagent.agents import BaseAgent, LlmAgent

__all__ = ["as_dot", "as_tree"]

_COLOURS: Final = {  # of ADK: ground, box, frame, words, line
    False: ("#F8FAFC", "#FFFFFF", "#94A3B8", "#0F172A", "#64748B"),
    True: ("#0F172A", "#1E293B", "#475569", "#F8FAFC", "#94A3B8"),
}


def as_tree(agent: BaseAgent) -> dict[str, Any]:
    """In the keys of ADK's agents."""
    return {
        "name": agent.name,
        "description": agent.description,
        "tools": [{"name": name, "type": "tool"} for name in _tools(agent)],
        "sub_agents": [as_tree(one) for one in agent.sub_agents],
    }


def as_dot(agent: BaseAgent, is_dark: bool = False) -> str:
    """In the language of graphviz: agents are boxes, tools are ovals."""
    ground, box, frame, words, line = _COLOURS[is_dark]
    lines = [
        f'graph [bgcolor="{ground}" pad=0.5 nodesep=0.5 ranksep=0.8]',
        f'node [style="rounded,filled" shape=box fillcolor="{box}" color="{frame}" fontcolor="{words}" fontsize=12]',
        f'edge [color="{line}" arrowhead=vee arrowsize=0.7]',
        *_nodes(agent),
    ]
    return "digraph {\n" + "\n".join(f"  {one}" for one in dict.fromkeys(lines)) + "\n}\n"


def _nodes(agent: BaseAgent) -> Iterator[str]:
    name = _quoted(agent.name)
    yield f"{name} [tooltip=Agent]"
    for tool in _tools(agent):
        own = _quoted(f"{tool}()")  # a tool may have the name of an agent
        yield f"{own} [label={_quoted(tool)} shape=oval style=filled tooltip=Tool]"
        yield f"{name} -> {own} [style=dashed]"
    for one in agent.sub_agents:
        yield from _nodes(one)
        yield f"{name} -> {_quoted(one.name)}"


def _tools(agent: BaseAgent) -> list[str]:
    """Names of tools, and of kinds of toolsets: what those hold depends on the run."""
    tools = agent.tools if isinstance(agent, LlmAgent) else ()
    return [getattr(tool, "name", type(tool).__name__) for tool in tools]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
