"""Tasks that a tool starts and leaves end with the run."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from rxagent import LlmAgent, RunConfig, RunHandle, Runner
from rxagent.sessions import InMemorySessionService
from rxagent.testing import ScriptedModel, call, gate

LIMIT = 10.0


class Stray:
    """A tool that starts a task and leaves it. free: in a context of its own."""

    def __init__(self, *, free: bool = False, cleanup: threading.Event | None = None) -> None:
        self.free, self.cleanup = free, cleanup
        self.left, self.ended = threading.Event(), threading.Event()
        self.task: asyncio.Task[None] | None = None

    async def work(self) -> str:
        """Start something."""
        context = contextvars.Context() if self.free else None
        self.task = asyncio.create_task(self._tick(), context=context)
        await asyncio.sleep(0)
        self.left.set()
        return "started"

    async def _tick(self) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            while self.cleanup is not None and not self.cleanup.is_set():
                await asyncio.sleep(0.001)
            self.ended.set()


def runner(stray: Stray, *turns: Any) -> Runner:
    sub = LlmAgent(name="sub", model=ScriptedModel(*turns))
    model = ScriptedModel([call("work")], [call("transfer_to_agent", agent_name="sub")])
    agent = LlmAgent(name="a", model=model, tools=[stray.work], sub_agents=[sub])
    return Runner(agent=agent, app_name="app", session_service=InMemorySessionService())


def end_of(handle: RunHandle) -> str:
    outcome = handle.wait(LIMIT)
    assert outcome is not None
    return outcome.kind


def test_the_run_completes() -> None:
    """It lives on in the next agent, and is over when the run is told to be, after a hand-over too."""
    stray = Stray()
    seen: list[bool] = []
    handle = runner(stray, [lambda _: seen.append(stray.ended.is_set()), "Done."]).start("me", "s", "Go")
    assert end_of(handle) == "completed"
    assert (seen, stray.ended.is_set()) == ([False], True)


def test_the_run_fails() -> None:
    """An error of the model ends it, too."""
    stray = Stray()
    handle = runner(stray, ValueError("no")).start("me", "s", "Go")
    assert end_of(handle) == "failed"
    assert stray.ended.is_set()


@pytest.mark.parametrize("way", ["dispose", "abort"])
def test_the_run_is_stopped(way: str) -> None:
    """So does a stop, from whichever side."""
    stray = Stray()
    handle = runner(stray, [gate(threading.Event())]).start("me", "s", "Go")
    assert stray.left.wait(LIMIT)
    getattr(handle, way)()
    assert end_of(handle) == {"dispose": "disposed", "abort": "aborted"}[way]
    assert stray.ended.is_set()


def test_the_end_waits_for_its_cleanup() -> None:
    """The run has ended when the task's own cleanup has; a task that ignores the cancel costs the grace, no more."""
    stray = Stray(cleanup=threading.Event())
    config = RunConfig(cancel_grace_period=0.05)
    handle = runner(stray, ["Done."]).start("me", "s", "Go", run_config=config)
    assert end_of(handle) == "completed"
    assert not stray.ended.is_set()
    assert stray.cleanup is not None
    stray.cleanup.set()
    assert stray.ended.wait(LIMIT)


def test_a_context_of_its_own() -> None:
    """A task that was made in another context is nobody's: it outlives the run."""
    stray = Stray(free=True)
    assert list(runner(stray, ["Done."]).run("me", "s", "Go"))
    assert stray.task is not None
    assert not stray.task.done()
    stray.task.get_loop().call_soon_threadsafe(stray.task.cancel)
    assert stray.ended.wait(LIMIT)


def test_on_the_loop_of_the_application() -> None:
    """There, too; tasks of the application's own, and its task factory, stay as they are."""
    stray, made = Stray(), []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def factory(loop: Any, coro: Any, **options: Any) -> Any:
            task = asyncio.Task(coro, loop=loop, **options)
            made.append(task)
            return task

        loop.set_task_factory(factory)
        own = asyncio.create_task(asyncio.sleep(LIMIT))
        events = [event async for event in runner(stray, ["Done."]).run_async("me", "s", "Go")]
        assert events[-1].text == "Done."
        assert stray.task in made
        later = asyncio.create_task(asyncio.sleep(LIMIT))
        assert not own.cancelled()
        assert not later.cancelled()
        for task in (own, later):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert stray.ended.is_set()
