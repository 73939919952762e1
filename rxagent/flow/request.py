"""Building the request of a model turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rxagent.history.contents import History
from rxagent.invocation import InvocationContext, ToolContext
from rxagent.models import LlmRequest
from rxagent.tools import BaseTool, BaseToolset, ToolLike, as_tool

from .asking_agent import AskingAgent
from .compaction import compact_before_request
from .output import ask_for_shape
from .transfer import offer_transfer

__all__ = ["build_request", "request_with_tools"]


def build_request(agent: AskingAgent, context: InvocationContext, history: History) -> LlmRequest:
    """What the model is asked: shape, instructions, identity, contents, tools, in ADK's order. On the agent's worker.

    Older events are summarised before the contents are made, when that is due. What the run itself brings comes last.
    """
    request = _shaped(agent, context)
    request.append_instructions(agent.instructions(context))
    request.append_instructions((_identity(agent),))
    compact_before_request(context, history, agent.include_contents)
    request.contents = history.contents(agent.include_contents)
    _add_tools(agent, context, request)
    request.append_instructions(context.run_config.instructions)
    return request


def request_with_tools(agent: AskingAgent, context: InvocationContext) -> LlmRequest:
    """A request that is never sent: it knows the tools by which the agent's calls are run again."""
    request = _shaped(agent, context)
    _add_tools(agent, context, request)
    return request


def _shaped(agent: AskingAgent, context: InvocationContext) -> LlmRequest:
    request = LlmRequest(model=agent.canonical_model().model, config=agent.generate_content_config)
    ask_for_shape(agent, request, beside_tools=bool(agent.tools or context.run_config.tools))
    return request


def _add_tools(agent: AskingAgent, context: InvocationContext, request: LlmRequest) -> None:
    offer_transfer(request, agent.transfer_targets)
    of_run = context.run_config.tools
    if not agent.tools and not of_run:
        return
    tool_context = ToolContext(context, "")
    for tool in _members(agent.tools, tool_context, request):
        tool.process_llm_request(tool_context, request)
    for tool in _members(of_run, tool_context, request):
        if tool.name not in request.tools:  # the agent's own comes first: nobody takes its place for a run
            tool.process_llm_request(tool_context, request)


def _members(
    tools: Iterable[ToolLike | BaseToolset], tool_context: ToolContext, request: LlmRequest
) -> Iterator[BaseTool]:
    """The tools, those of the toolsets among them, one after the other."""
    for tool in tools:
        if isinstance(tool, BaseToolset):
            tool.process_llm_request(tool_context, request)
            yield from map(as_tool, tool.get_tools(tool_context))
        else:
            yield as_tool(tool)


def _identity(agent: AskingAgent) -> str:
    about = f' The description about you is "{agent.description}".' if agent.description else ""
    return f'You are an agent. Your internal name is "{agent.name}".{about}'
