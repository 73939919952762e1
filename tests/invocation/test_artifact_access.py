"""Artifacts as callbacks and tools reach them: ctx.save_artifact, load_artifact, list_artifacts, and their sisters."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.artifacts import BaseArtifactService, InMemoryArtifactService
from rxagent.errors import ConfigError
from rxagent.events import Event, Part
from rxagent.invocation import CallbackContext, ToolContext
from rxagent.runner import Runner
from rxagent.streams import Blocking, Single
from rxagent.testing import ScriptedModel, call
from tests.artifacts.services import AsyncArtifacts

X = Part(text="x")


class Singles(InMemoryArtifactService):  # type: ignore[misc]
    """A service that returns Singles."""

    def save_artifact(self, *args: Any, **more: Any) -> Any:
        return Single.just(super().save_artifact(*args, **more))


class Observables(InMemoryArtifactService):  # type: ignore[misc]
    """A service that returns Observables which emit on a thread of their own."""

    def save_artifact(self, *args: Any, **more: Any) -> Any:
        version = super().save_artifact(*args, **more)
        return Blocking(lambda scope: iter([version]))


def run(tool: Any, service: BaseArtifactService | None = None, **agent: Any) -> list[Event]:
    """The events of a run whose model calls the tool `work`."""
    model = ScriptedModel([call("work")], "done")
    root = LlmAgent(name="root", model=model, tools=[tool], **agent)
    return list(Runner(root, artifact_service=service or InMemoryArtifactService()).run("me", "s", "hi"))


def result(events: list[Event]) -> Any:
    (response,) = events[1].function_responses
    return response.response


def work(tool_context: ToolContext) -> dict[str, Any]:
    """Saves, loads and lists."""
    versions = [tool_context.save_artifact("f", Part(text=text)) for text in ("one", "two")]
    tool_context.save_artifact("user:g", X)
    loaded = [tool_context.load_artifact("f"), tool_context.load_artifact("f", 0), tool_context.load_artifact("none")]
    texts = [None if part is None else part.text for part in loaded]
    return {"versions": versions, "texts": texts, "names": tool_context.list_artifacts()}


EXPECTED = {"versions": [0, 1], "texts": ["two", "one", None], "names": ["f", "user:g"]}


@pytest.mark.parametrize("service", [InMemoryArtifactService, AsyncArtifacts])
def test_in_a_tool(service: Any) -> None:
    """A tool saves, loads and lists, also where the service returns awaitables; the versions are in its event."""
    events = run(work, service())
    assert result(events) == EXPECTED
    assert events[1].actions.artifact_delta == {"f": 1, "user:g": 0}


def test_two_tools_in_one_event() -> None:
    """The artifacts of a batch's tools stand in the event of their responses, for a name the later version (b17)."""

    def a(tool_context: ToolContext) -> None:
        """A tool."""
        tool_context.save_artifact("f", X)

    def b(tool_context: ToolContext) -> None:
        """A tool."""
        tool_context.save_artifact("f", X)
        tool_context.save_artifact("g", X)

    agent = LlmAgent(name="root", model=ScriptedModel([call("a"), call("b")], "done"), tools=[a, b])
    events = list(Runner(agent).run("me", "s", "hi"))
    assert events[1].actions.artifact_delta == {"f": 1, "g": 0}


def test_in_a_model_callback() -> None:
    """What a model callback saves stands in the event of the answer."""

    def save(ctx: CallbackContext, request: Any) -> None:
        ctx.save_artifact("f", X)

    agent = LlmAgent(name="root", model=ScriptedModel("hi"), before_model_callback=save)
    (event,) = Runner(agent).run("me", "s", "hi")
    assert event.actions.artifact_delta == {"f": 0}


@pytest.mark.parametrize("service", [InMemoryArtifactService, AsyncArtifacts])
def test_in_a_coroutine(service: Any) -> None:
    """A coroutine awaits the sisters that begin with `a`, with every service."""

    async def work(tool_context: ToolContext) -> dict[str, Any]:
        """Saves, loads and lists."""
        versions = [await tool_context.asave_artifact("f", Part(text=text)) for text in ("one", "two")]
        await tool_context.asave_artifact("user:g", X)
        loaded = [
            await tool_context.aload_artifact("f"),
            await tool_context.aload_artifact("f", 0),
            await tool_context.aload_artifact("none"),
        ]
        texts = [None if part is None else part.text for part in loaded]
        return {"versions": versions, "texts": texts, "names": await tool_context.alist_artifacts()}

    events = run(work, service())
    assert result(events) == EXPECTED
    assert events[1].actions.artifact_delta == {"f": 1, "user:g": 0}


def test_built_in_services_never_wait() -> None:
    """In a coroutine the plain methods work with the built-in services, which answer at once."""

    async def work(tool_context: ToolContext) -> int:
        """Saves."""
        return tool_context.save_artifact("f", X)

    assert result(run(work)) == {"result": 0}


@pytest.mark.parametrize("service", [AsyncArtifacts, Singles])
def test_a_coroutine_does_not_block_its_loop(service: Any) -> None:
    """A plain method that would have to wait in a coroutine is a UsageError that names its sister; nothing is noted."""
    errors: list[str] = []

    async def work(tool_context: ToolContext) -> None:
        """Saves."""
        try:
            tool_context.save_artifact("f", X)
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")

    events = run(work, service())
    assert errors[0].startswith("UsageError: ")
    assert "await ctx.asave_artifact" in errors[0]
    assert events[1].actions.artifact_delta == {}


@pytest.mark.parametrize("service", [Singles, Observables])
def test_streams_can_be_awaited(service: Any) -> None:
    """A service that returns Singles, or other Observables, works in coroutines, too."""

    async def work(tool_context: ToolContext) -> int:
        """Saves."""
        return await tool_context.asave_artifact("f", X)

    assert result(run(work, service())) == {"result": 0}


def test_a_failed_save_is_not_noted() -> None:
    """When the service raises, so does the method, and the event names no version."""

    class Full(InMemoryArtifactService):  # type: ignore[misc]
        def save_artifact(self, *args: Any, **more: Any) -> int:
            raise OSError("disk full")

    def work(tool_context: ToolContext) -> str:
        """Saves."""
        try:
            tool_context.save_artifact("f", X)
        except OSError as error:
            return str(error)
        return "saved"

    events = run(work, Full())
    assert result(events) == {"result": "disk full"}
    assert events[1].actions.artifact_delta == {}


def test_without_a_service() -> None:
    """In a context that nobody gave a service it is a ConfigError that says what to give."""

    def work(tool_context: ToolContext) -> str:
        """Lists."""
        tool_context.invocation_context.invocation.artifact_service = None
        try:
            tool_context.list_artifacts()
        except ConfigError as error:
            return str(error)
        return "listed"

    assert result(run(work))["result"].startswith("Artifact service is not initialized; give the Runner")


def test_a_stop_leaves_the_wait() -> None:
    """A tool that waits for a slow service is left at once when its run is disposed; nothing is noted afterwards."""
    waiting, left = threading.Event(), threading.Event()

    class Slow(AsyncArtifacts):
        async def save_artifact(self, *args: Any, **more: Any) -> int:
            import asyncio

            waiting.set()
            await asyncio.Event().wait()
            return 0

    def work(tool_context: ToolContext) -> None:
        """Saves."""
        try:
            tool_context.save_artifact("f", X)
        finally:
            left.set()

    model = ScriptedModel([call("work")])
    runner = Runner(LlmAgent(name="root", model=model, tools=[work]), artifact_service=Slow())
    handle = runner.run_async("me", "s", "hi").subscribe()
    assert waiting.wait(10)
    handle.dispose()
    assert left.wait(10)
    runner.close()
