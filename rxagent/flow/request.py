"""Building the request of a model turn."""

from __future__ import annotations

from rxagent.invocation import InvocationContext, ToolContext
from rxagent.models import LlmRequest
from rxagent.tools import BaseToolset, as_tool

from .asking_agent import AskingAgent
from .compaction import compact_before_request
from .contents import History
from .output import ask_for_shape
from .transfer import offer_transfer

__all__ = ["build_request", "request_with_tools"]


def build_request(agent: AskingAgent, context: InvocationContext, history: History) -> LlmRequest:
    """What the model is asked: shape, instructions, identity, contents, tools, in ADK's order. On the agent's worker.

    Older events are summarised before the contents are made, when that is due.
    """
    request = _shaped(agent)
    request.append_instructions(agent.instructions(context))
    request.append_instructions((_identity(agent),))
    compact_before_request(context, history, agent.include_contents)
    request.contents = history.contents(agent.include_contents)
    _add_tools(agent, context, request)
    return request


def request_with_tools(agent: AskingAgent, context: InvocationContext) -> LlmRequest:
    """A request that is never sent: it knows the tools by which the agent's calls are run again."""
    request = _shaped(agent)
    _add_tools(agent, context, request)
    return request


def _shaped(agent: AskingAgent) -> LlmRequest:
    request = LlmRequest(model=agent.canonical_model().model, config=agent.generate_content_config)
    ask_for_shape(agent, request)
    return request


def _add_tools(agent: AskingAgent, context: InvocationContext, request: LlmRequest) -> None:
    offer_transfer(request, agent.transfer_targets)
    if not agent.tools:
        return
    tool_context = ToolContext(context, "")
    for tool in agent.tools:
        tool.process_llm_request(tool_context, request)
        if isinstance(tool, BaseToolset):
            for member in tool.get_tools(tool_context):
                as_tool(member).process_llm_request(tool_context, request)


def _identity(agent: AskingAgent) -> str:
    about = f' The description about you is "{agent.description}".' if agent.description else ""
    return f'You are an agent. Your internal name is "{agent.name}".{about}'
