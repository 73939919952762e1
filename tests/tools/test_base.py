"""BaseTool."""

from __future__ import annotations

import pytest

from rxagent.errors import ConfigError, DuplicateToolError
from rxagent.models.request import LlmRequest
from rxagent.tools import BaseTool, CallContext

from .calls import HandContext


def test_context_by_hand_is_a_call_context() -> None:
    """What a run gives to tools needs to satisfy the protocol only."""
    context: CallContext = HandContext("c7")
    assert context.function_call_id == "c7"


def test_defaults() -> None:
    """A bare tool has no description, declares nothing and is not long-running."""
    tool = BaseTool("look")
    assert (tool.name, tool.description, tool.is_long_running, tool.custom_metadata) == ("look", "", False, {})
    assert tool.declaration() is None


def test_metadata_is_kept() -> None:
    """Custom metadata is the application's and is kept as it is."""
    assert BaseTool("look", custom_metadata={"owner": "billing"}).custom_metadata == {"owner": "billing"}


@pytest.mark.parametrize("name", ["", "<lambda>", "two words", "größe", "a" * 65, "a.b"])
def test_names_that_servers_refuse(name: str) -> None:
    """A name that chat-completions servers answer with an error is refused where the tool is made."""
    with pytest.raises(ConfigError, match="no name for a tool"):
        BaseTool(name)


def test_run_async_must_be_implemented() -> None:
    """Calling a tool without run_async says which class lacks it."""
    with pytest.raises(ConfigError, match="'look' cannot be called: BaseTool has no run_async"):
        BaseTool("look").run_async({}, HandContext())


def test_a_tool_adds_itself_to_a_request() -> None:
    """By default a tool puts itself into the request, once."""
    request, tool = LlmRequest(), BaseTool("look")
    tool.process_llm_request(HandContext(), request)
    tool.process_llm_request(HandContext(), request)
    assert request.tools == {"look": tool}


def test_two_tools_of_one_name() -> None:
    """Two tools of one name in a request are a DuplicateToolError."""
    request = LlmRequest(tools=[BaseTool("look")])
    with pytest.raises(DuplicateToolError, match="'look'"):
        BaseTool("look").process_llm_request(HandContext(), request)
