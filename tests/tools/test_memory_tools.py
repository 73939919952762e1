"""load_memory and preload_memory in runs."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.events import Blob, Content, Event, Part
from rxagent.memory import BaseMemoryService, InMemoryMemoryService
from rxagent.runner import AgentTool, Runner
from rxagent.sessions import Session
from rxagent.testing import ScriptedModel, call
from rxagent.tools import load_memory, preload_memory
from tests.memory.services import AsyncMemory

TIME = 1_767_225_600_000


def remembering(*contents: Content) -> InMemoryMemoryService:
    memory = InMemoryMemoryService()
    events = [Event(author="user", content=content, timestamp=TIME) for content in contents]
    memory.add_session_to_memory(Session("root", "me", "old", events=events))
    return memory


def asked(
    model: ScriptedModel, tool: Any, memory: BaseMemoryService | None, text: str = "What is my name?"
) -> list[Event]:
    """The events of a run with this tool."""
    with Runner(LlmAgent(name="root", model=model, tools=[tool]), memory_service=memory) as runner:
        return list(runner.run("me", "s", text))


def test_an_agent_remembers_the_users_name() -> None:
    """What the user said in one session the model reads in another, by load_memory (ADK Java, AgentWithMemoryTest)."""
    memory = InMemoryMemoryService()
    model = ScriptedModel("Hello James.", [call("load_memory", query="name")], "You are James.")
    with Runner(LlmAgent(name="root", model=model, tools=[load_memory]), memory_service=memory) as runner:
        list(runner.run("me", "s1", "My name is James"))
        session = runner.session_service.get_session("root", "me", "s1")
        memory.add_session_to_memory(session)  # type: ignore[arg-type]
        events = list(runner.run("me", "s2", "What is my name?"))
    (response,) = events[1].function_responses
    [entry] = (response.response or {})["memories"]
    assert (entry["content"], entry["author"]) == ({"role": "user", "parts": [{"text": "My name is James"}]}, "user")
    assert events[-1].text == "You are James."


def test_the_model_is_told_of_its_memory() -> None:
    """The request offers the tool with its one argument, and the instruction names it."""
    model = ScriptedModel("Hm.")
    asked(model, load_memory, InMemoryMemoryService())
    assert "You have memory." in model.requests[0].system_instruction
    declaration = load_memory.declaration()
    assert (declaration.name, declaration.parameters and declaration.parameters["required"]) == (
        "load_memory",
        ["query"],
    )
    assert declaration.description == "Loads the memory for the current user."


def test_texts_alone_are_told() -> None:
    """Bytes and thoughts of a remembered event are not told to the model."""
    parts = (Part(text="tea?", thought=True), Part(inline_data=Blob(mime_type="x/y", data=b"abc")), Part(text="tea"))
    model = ScriptedModel([call("load_memory", query="tea")], "Done.")
    events = asked(model, load_memory, remembering(Content(role="user", parts=parts)))
    (response,) = events[1].function_responses
    assert response.response == {
        "memories": [
            {
                "content": {"role": "user", "parts": [{"text": "tea"}]},
                "author": "user",
                "timestamp": "2026-01-01T00:00:00Z",
            }
        ]
    }


def test_without_a_memory_the_model_gets_an_error() -> None:
    """Without a memory service a call is an error for the model, and the run goes on (ADK Java)."""
    events = asked(ScriptedModel([call("load_memory", query="tea")], "Sorry."), load_memory, None)
    (response,) = events[1].function_responses
    assert response.response == {"status": "error", "message": "An internal error occurred."}
    assert events[-1].text == "Sorry."


def test_the_memory_of_an_agent_tool_is_its_own() -> None:
    """An agent that is a tool has a memory of its own, which is empty (ADK Java, InMemoryRunner)."""
    inner = ScriptedModel([call("load_memory", query="tea")], "Nothing.")
    helper = AgentTool(LlmAgent(name="helper", model=inner, tools=[load_memory]))
    events = asked(ScriptedModel([call("helper", request="tea?")], "Done."), helper, remembering(Content.user("tea")))
    assert events[-1].text == "Done."
    (answer,) = [part.function_response for part in inner.requests[1].contents[-1].parts or ()]
    assert answer is not None
    assert answer.response == {"memories": []}


def test_preloading() -> None:
    """What the memory has on the message stands in the system instruction; there is no tool to call."""
    model = ScriptedModel("James.")
    asked(model, preload_memory, remembering(Content.user("My name is James"), Content.user("I like tea")))
    assert model.requests[0].system_instruction.endswith(
        "The following content is from your previous conversations with the user.\n"
        "They may be useful for answering the user's current query.\n"
        "<PAST_CONVERSATIONS>\nTime: 2026-01-01T00:00:00Z\nuser: My name is James\n</PAST_CONVERSATIONS>"
    )
    assert model.requests[0].tools == ()


@pytest.mark.parametrize("text", ["Nothing of that", ""])
def test_preloading_nothing(text: str) -> None:
    """When nothing is found, or the message has no text, nothing is said of a memory."""
    model = ScriptedModel("Hm.")
    message: Any = text or [Part(inline_data=Blob(mime_type="image/png", data=b"x"))]
    asked(model, preload_memory, remembering(Content.user("My name is James")), message)
    assert "PAST" not in model.requests[0].system_instruction


def test_preloading_waits_for_an_awaitable() -> None:
    """A service whose methods are coroutines serves as well."""
    assert asked(ScriptedModel("Hm."), preload_memory, AsyncMemory())[-1].text == "Hm."


def test_an_error_of_the_memory_fails_the_run() -> None:
    """What the service raises while a request is made is the run's error."""

    class Broken(InMemoryMemoryService):
        def search_memory(self, app_name: str, user_id: str, query: str) -> Any:
            raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        asked(ScriptedModel("Hm."), preload_memory, Broken())
