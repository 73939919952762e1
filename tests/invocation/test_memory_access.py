"""Memory as callbacks and tools reach it: ctx.search_memory and its sister."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.errors import ConfigError
from rxagent.events import Content, Event
from rxagent.invocation import CallbackContext, ToolContext
from rxagent.memory import BaseMemoryService, InMemoryMemoryService
from rxagent.runner import App, Runner
from rxagent.sessions import Session
from rxagent.streams import CancelScope, settle
from rxagent.testing import ScriptedModel, call
from tests.memory.services import AsyncMemory, SingleMemory

SERVICES = [InMemoryMemoryService, AsyncMemory, SingleMemory]


def remembering(service: BaseMemoryService, app_name: str = "root") -> BaseMemoryService:
    event = Event(author="user", content=Content.user("I like tea."))
    settle(service.add_session_to_memory(Session(app_name, "me", "old", events=[event])), CancelScope())
    return service


def result(tool: Any, service: BaseMemoryService | None) -> Any:
    """What a run's one call of the tool `look` gave."""
    agent = LlmAgent(name="root", model=ScriptedModel([call("look")], "done"), tools=[tool])
    with Runner(agent, memory_service=service) as runner:
        events = list(runner.run("me", "s", "hi"))
    (response,) = events[1].function_responses
    return response.response


@pytest.mark.parametrize("service", SERVICES)
def test_in_a_tool(service: Any) -> None:
    """A tool finds what the user said in another session, also where the service returns awaitables or Singles."""

    def look(tool_context: ToolContext) -> list[str]:
        """Looks."""
        return [entry.content.text for entry in tool_context.search_memory("tea").memories]

    assert result(look, remembering(service())) == {"result": ["I like tea."]}


@pytest.mark.parametrize("service", SERVICES)
def test_in_a_coroutine(service: Any) -> None:
    """A coroutine awaits asearch_memory."""

    async def look(tool_context: ToolContext) -> list[str]:
        """Looks."""
        return [entry.content.text for entry in (await tool_context.asearch_memory("tea")).memories]

    assert result(look, remembering(service())) == {"result": ["I like tea."]}


def test_blocking_a_loop_is_refused() -> None:
    """search_memory in a coroutine, with a service that must be awaited, says what to write instead."""
    errors: list[str] = []

    async def look(tool_context: ToolContext) -> None:
        """Looks."""
        try:
            tool_context.search_memory("tea")
        except Exception as error:
            errors.append(str(error))

    result(look, AsyncMemory())
    assert ["await ctx.asearch_memory" in error for error in errors] == [True]


def test_without_a_memory() -> None:
    """A Runner without a memory service has nothing to search, and says so."""
    errors: list[Exception] = []

    def look(tool_context: ToolContext) -> None:
        """Looks."""
        try:
            tool_context.search_memory("tea")
        except ConfigError as error:
            errors.append(error)

    result(look, None)
    assert "give the Runner a memory_service" in str(errors[0])


def test_a_callback_puts_the_session_in() -> None:
    """An after-agent callback may put the session into the memory, and the next session finds it."""

    def keep(ctx: CallbackContext) -> None:
        memory = ctx.invocation_context.memory_service
        assert memory is not None
        memory.add_session_to_memory(ctx.session)

    memory = InMemoryMemoryService()
    agent = LlmAgent(name="root", model=ScriptedModel("Noted."), after_agent_callback=keep)
    with Runner(app=App("notes", root_agent=agent), memory_service=memory) as runner:
        list(runner.run("me", "s1", "My cat is Minka."))
    assert [entry.author for entry in memory.search_memory("notes", "me", "cat noted").memories] == ["user", "root"]
