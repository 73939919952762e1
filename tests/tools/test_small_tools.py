"""LongRunningFunctionTool, exit_loop, BaseToolset."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rxagent.models.request import LlmRequest
from rxagent.tools import (
    BaseTool,
    BaseToolset,
    FunctionTool,
    LongRunningFunctionTool,
    ToolFilter,
    TurnContext,
    exit_loop,
)

from .calls import Call, HandContext, result_of


def refund(order: int) -> dict[str, str] | None:
    """Ask for a refund."""
    return {"status": "pending"} if order else None


def test_long_running() -> None:
    """A long-running function is flagged, and declared and called as any other."""
    tool = LongRunningFunctionTool(refund, name="ask", custom_metadata={"a": 1})
    assert tool.is_long_running
    assert not FunctionTool(refund).is_long_running
    assert (tool.name, tool.description, tool.custom_metadata) == ("ask", "Ask for a refund.", {"a": 1})
    assert result_of(tool, order=7) == {"status": "pending"}
    assert result_of(tool, order=0) == {}


def test_exit_loop() -> None:
    """exit_loop escalates, skips the summary, and is told as in ADK Java."""
    tool, context = FunctionTool(exit_loop), HandContext()
    assert Call(tool, {}, context).wait().results == [{}]
    assert (context.actions.escalate, context.actions.skip_summarization) == (True, True)
    declared = tool.declaration()
    assert declared.name == "exit_loop"
    assert declared.description == "Exits the loop.\n\nCall this function only when you are instructed to do so."


class Pair(BaseToolset):
    def get_tools(self, ctx: TurnContext | None = None) -> Sequence[BaseTool]:
        return [tool for tool in (BaseTool("read"), BaseTool("write")) if self.is_selected(tool, ctx)]


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (None, ["read", "write"]),
        (["write"], ["write"]),
        ((), []),
        (lambda tool, ctx: tool.name == "read", ["read"]),
        (lambda tool, ctx: ctx is not None and ctx.user_id == "u", ["read", "write"]),
    ],
    ids=["all", "names", "none", "predicate", "by context"],
)
def test_toolset_filter(chosen: ToolFilter | None, names: list[str]) -> None:
    """A toolset offers all tools, those named, or those that a predicate picks, which sees the context."""
    assert [tool.name for tool in Pair(tool_filter=chosen).get_tools(HandContext())] == names


def test_toolset_defaults() -> None:
    """By default a toolset changes no request, and closes twice."""
    toolset, request = Pair(), LlmRequest()
    toolset.process_llm_request(HandContext(), request)
    assert request.tools == {}
    toolset.close()
    toolset.close()
