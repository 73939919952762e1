"""Work that a stop cannot interrupt: how long the next run waits for it, and what becomes of its result."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from rxagent.errors import FencedError
from rxagent.invocation import RunConfig
from rxagent.runner import Runner
from rxagent.sessions import InMemorySessionService, SqliteSessionService
from rxagent.testing.scripted_model import ScriptedModel, call
from tests.runner.driving import USER, Consumer, Ends, Gate, log, runner_of, said, watch, within


class Slow:
    """A runner whose first turn calls a tool that ignores every stop."""

    def __init__(self, service: Any = None, mode: Any = "none") -> None:
        self.work, self.ends, self.mode = Gate(), Ends(), mode

        def tool() -> str:
            """Work."""
            self.work()
            return "too late"

        def other() -> str:
            """Answer."""
            return "other"

        turns: list[Any] = [[call("other"), call("tool")], ["Next."], ["Again."]]
        self.runner = runner_of(turns, tools=[tool, other], service=service, plugins=[self.ends])

    def left(self, grace: float) -> Consumer:
        """A run that was left in the middle of the tool."""
        config = RunConfig(cancel_grace_period=grace, tool_execution_mode=self.mode)
        consumer = Consumer().of(self.runner.run_async(USER, "s", "Hi", config))
        assert self.work.entered.wait(5)
        consumer.dispose()
        return consumer


@pytest.mark.promise("J18")
@pytest.mark.parametrize("mode", ["none", "sequential", "parallel_subscribe"])
def test_the_next_run_waits_for_the_work(mode: Any) -> None:
    """Within the grace the next run starts when the left run's tool has ended, and not before."""
    slow = Slow(mode=mode)
    slow.left(grace=60)
    with slow.runner.start(USER, "s", "Again") as run:
        assert run.state == "waiting"
        assert (run.wait(0.05), slow.ends.outcomes) == (None, [])
        slow.work.opened.set()
        assert said(run) == ["agent: Next."]
    assert [slow.ends.next().kind, slow.ends.next().kind] == ["disposed", "completed"]
    assert said(log(slow.runner))[:2] == ["user: Hi", "agent: call(other) call(tool)"]


@pytest.mark.promise("J18")
@pytest.mark.parametrize("grace", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_the_grace_is_over(tmp_path: Path, kind: str, grace: float, caplog: pytest.LogCaptureFixture) -> None:
    """After the grace the next run starts; the late result is dropped and logged, and nothing of it is stored."""
    service: Any = InMemorySessionService() if kind == "memory" else SqliteSessionService(tmp_path / "log.db")
    slow = Slow(service)
    slow.left(grace)
    assert slow.ends.next().kind == "disposed"
    assert not slow.work.left.is_set()
    assert said(slow.runner.run(USER, "s", "Again")) == ["agent: Next."]
    left_run = slow.runner.leftovers()
    assert len(left_run) == 1
    before = said(log(slow.runner))
    appends = watch(service, "append_events")
    with caplog.at_level(logging.WARNING, "rxagent.late"):
        slow.work.opened.set()
        assert within(lambda: slow.runner.leftovers() == [])
    assert (said(log(slow.runner)), appends) == (before, [])
    assert [left_run[0].invocation_id in record.getMessage() for record in caplog.records] == [True]
    service.close()


@pytest.mark.promise("J18")
def test_a_coroutine_that_cleans_up_slowly() -> None:
    """A coroutine is work until its own cleanup has ended, not until it was cancelled."""
    started, ends = threading.Event(), Ends()
    cleaning, may_end = threading.Event(), threading.Event()

    async def tool() -> str:
        """Work."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaning.set()
            await asyncio.to_thread(may_end.wait, 5)
        return "never"

    runner = runner_of([call("tool"), "Next."], tools=[tool], plugins=[ends])
    first = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert started.wait(5)
    first.dispose()
    assert cleaning.wait(5)
    second = Consumer().of(runner.run_async(USER, "s", "Again"))
    assert (ends.outcomes, second.events) == ([], [])
    may_end.set()
    assert said(second.wait().events) == ["agent: Next."]


@pytest.mark.promise("J18")
def test_an_append_that_outlasts_the_grace_is_fenced() -> None:
    """An append that begins before the dispose and reaches the store after the grace is refused by the store."""
    service, storing, ends = InMemorySessionService(), Gate(), Ends()
    refused: list[BaseException] = []
    plain = service.append_events

    def append(session: Any, events: Any, **options: Any) -> Any:
        if events[0].author == "agent" and not storing.opened.is_set():
            storing()
        try:
            return plain(session, events, **options)
        except FencedError as error:
            refused.append(error)
            raise

    service.append_events = append  # type: ignore[method-assign]
    runner = runner_of(ScriptedModel("Hello.", repeat_last=True), service=service, plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", RunConfig(cancel_grace_period=0)))
    assert storing.entered.wait(5)
    consumer.dispose()
    assert ends.next().kind == "disposed"
    storing.opened.set()
    assert within(lambda: bool(refused) and not runner.leftovers())
    assert said(log(runner)) == ["user: Hi"]
    assert said(runner.run(USER, "s", "Again")) == ["agent: Hello."]


def test_closing_a_runner_waits_the_grace() -> None:
    """`close()` disposes the live runs and waits for their end, at most their grace."""
    slow = Slow()
    config = RunConfig(cancel_grace_period=0.05)
    Consumer().of(slow.runner.run_async(USER, "s", "Hi", config))
    waiting = Consumer().of(slow.runner.run_async(USER, "s", "Again", config))
    other = Consumer().of(slow.runner.run_async(USER, "s", "Again", config))
    assert slow.work.entered.wait(5)
    slow.runner.close()
    assert [outcome.kind for outcome in slow.ends.outcomes] == ["disposed"] * 3
    assert len(slow.runner.leftovers()) == 1
    assert (waiting.ends, other.ends) == ([], [])
    slow.work.opened.set()
    assert within(lambda: slow.runner.leftovers() == [])
    slow.runner.close()


def test_runner_as_a_context_manager() -> None:
    """Leaving the block of a runner closes it: its runs, its plugins, and the service that it made for itself."""
    closed: list[str] = []

    class Closes(Ends):
        def close(self) -> None:
            closed.append("plugin")

    agent = runner_of([["a", lambda scope: scope.sleep(10)]]).agent
    with Runner(agent, plugins=[Closes()]) as runner:
        watch(runner.session_service, "close", lambda: closed.append("service"))
        run = runner.start(USER, "s", "Hi")
    assert run.state == "ended"
    assert closed == ["plugin", "service"]


def test_runner_as_an_async_context_manager() -> None:
    """The same in asyncio, where the loop goes on meanwhile: the cleanup of a coroutine tool needs it."""
    started, cleaned = threading.Event(), threading.Event()

    async def tool() -> str:
        """Work."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.set()
        return "never"

    agent = runner_of([call("tool")], tools=[tool]).agent

    async def main() -> None:
        async with Runner(agent) as runner:
            run = runner.start(USER, "s", "Hi")
            await asyncio.to_thread(started.wait, 5)
        assert run.state == "ended"
        assert cleaned.is_set()

    asyncio.run(main())
