"""BaseToolset: tools that are known only when a turn begins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

from rxagent.errors import DuplicateToolError
from rxagent.models.request import LlmRequest

from .base import BaseTool
from .context import CallContext, TurnContext
from .function_tool import ToolLike, as_tool

__all__ = ["BaseToolset", "ToolFilter", "as_tools"]

ToolFilter: TypeAlias = Collection[str] | Callable[[BaseTool, TurnContext | None], bool]
"""The names of the tools to offer, or a predicate."""


class BaseToolset(ABC):
    """A source of tools, asked in each turn. Subclasses implement `get_tools`.

    tool_filter: which of them to offer; None: all. A subclass applies it with `is_selected`.
    """

    def __init__(self, *, tool_filter: ToolFilter | None = None) -> None:
        self.tool_filter = tool_filter

    @abstractmethod
    def get_tools(self, ctx: TurnContext | None = None) -> Iterable[ToolLike]:
        """The tools for this turn. It may block: a run asks on its worker. What it raises fails the run."""

    def is_selected(self, tool: BaseTool, ctx: TurnContext | None = None) -> bool:
        """True when the filter lets the tool through."""
        chosen = self.tool_filter
        if chosen is None:
            return True
        return chosen(tool, ctx) if callable(chosen) else tool.name in chosen

    def process_llm_request(self, tool_context: CallContext, llm_request: LlmRequest) -> None:
        """Change a request that is being made, before the tools are added to it; nothing by default."""
        return

    def close(self) -> None:
        """Give back what the toolset holds (connections, processes); may come twice."""
        return


def as_tools(owner: str, given: Iterable[ToolLike | BaseToolset]) -> tuple[BaseTool | BaseToolset, ...]:
    """Toolsets as they are, all else by `as_tool`. Raises ConfigError, and DuplicateToolError for two of one name.

    owner: whose they are, for the error: "a run".
    """
    tools = tuple(one if isinstance(one, BaseToolset) else as_tool(one) for one in given)
    names = [tool.name for tool in tools if isinstance(tool, BaseTool)]
    for name in names:
        if names.count(name) > 1:
            raise DuplicateToolError(f"{owner} has two tools named {name!r}; rename one of them")
    return tools
