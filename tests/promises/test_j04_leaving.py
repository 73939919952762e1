"""Every way to stop reading a run is a dispose: the model's server sees its client go, and nothing is stored."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from rxagent.errors import UsageError
from rxagent.models import ChatCompletions
from rxagent.runner import Runner
from rxagent.sessions import SqliteSessionService
from rxagent.testing.chat_server import ChatServer, stall
from tests.runner.driving import SSE, USER, Ends, log, runner_of, said

ROOT = Path(__file__).parents[2]


class World:
    """A runner whose model's server says two words and falls silent."""

    def __init__(self, server: ChatServer, runner: Runner, ends: Ends) -> None:
        self.server, self.runner, self.ends = server, runner, ends

    def is_left(self) -> None:
        """The server has seen its client go, the run was disposed, and the log holds the user's event alone."""
        assert self.server.wait_requests()[0].wait_gone() is not None
        outcome = self.ends.next()
        assert (outcome.kind, self.ends.after_run) == ("disposed", [])
        assert said(log(self.runner)) == ["user: Hi"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A real socket, and a real file."""
    ends, service = Ends(), SqliteSessionService(tmp_path / "log.db")
    with ChatServer([["Once ", "upon ", stall()]]) as server:
        runner = runner_of(ChatCompletions("any", base_url=server.base_url), service=service, plugins=[ends])
        yield World(server, runner, ends)
    service.close()


@pytest.mark.promise("J4", "handle")
def test_the_handle_inside_on_next(world: World) -> None:
    """The handle of `start` exists before the first event, and leaves the run from inside the loop over its events."""
    run = world.runner.start(USER, "s", "Hi", SSE)
    for event in run:
        run.dispose()
        assert event.partial
    world.is_left()
    assert run.outcome is not None
    assert run.outcome.kind == "disposed"


@pytest.mark.promise("J4", "handle")
def test_leaving_the_block_of_a_handle(world: World) -> None:
    """Leaving the `with` block of a handle disposes the run and waits for its end."""
    with world.runner.start(USER, "s", "Hi", SSE) as run:
        next(iter(run))
    assert run.state == "ended"
    world.is_left()


@pytest.mark.promise("J4", "break")
def test_break(world: World) -> None:
    """Breaking out of `for event in runner.run(...)` disposes the run."""
    for event in world.runner.run(USER, "s", "Hi", SSE):
        assert event.text == "Once "
        break
    world.is_left()


@pytest.mark.promise("J4", "close")
def test_close(world: World) -> None:
    """`close()` of the iterator disposes the run; the loop then ends, and a second close does nothing."""
    events = world.runner.run(USER, "s", "Hi", SSE)
    assert next(events).text == "Once "
    events.close()
    events.close()
    assert list(events) == []
    world.is_left()


@pytest.mark.promise("J4", "gc")
def test_a_dropped_iterator(world: World) -> None:
    """An iterator that nobody holds any more disposes its run."""
    events = world.runner.run(USER, "s", "Hi", SSE)
    assert next(events).text == "Once "
    del events
    gc.collect()
    world.is_left()


@pytest.mark.promise("J4", "task_cancel")
def test_cancelling_the_task(world: World) -> None:
    """Cancelling the task that reads the stream disposes the run, while it waits for the next event."""

    async def main() -> None:
        first = asyncio.Event()

        async def read() -> None:
            async for _ in world.runner.stream(USER, "s", "Hi", SSE):
                first.set()

        task = asyncio.create_task(read())
        await asyncio.wait_for(first.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    world.is_left()


@pytest.mark.promise("J4", "task_cancel")
def test_a_time_limit_of_asyncio(world: World) -> None:
    """`asyncio.timeout` around the loop disposes the run when it is over."""

    async def main() -> None:
        async with asyncio.timeout(None) as limit:
            async for _ in world.runner.run_async(USER, "s", "Hi", SSE):
                limit.reschedule(asyncio.get_running_loop().time())

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    world.is_left()


@pytest.mark.promise("J4", "break")
@pytest.mark.parametrize("closing", [True, False], ids=["closed", "dropped"])
def test_break_in_asyncio(world: World, closing: bool) -> None:
    """Breaking out of `async for` disposes the run, when the iterator is closed and when it is only dropped."""

    async def main() -> None:
        events = world.runner.stream(USER, "s", "Hi", SSE)
        async for event in events:
            assert event.text == "Once "
            break
        if closing:
            await events.aclose()  # type: ignore[attr-defined]
        del events
        gone = world.server.wait_requests()[0].wait_gone
        assert await asyncio.to_thread(gone) is not None  # while the loop still runs

    asyncio.run(main())
    world.is_left()


INTERRUPTED = textwrap.dedent("""
    import os, sys
    from rxagent import ChatCompletions, LlmAgent, RunConfig, Runner, SqliteSessionService, BasePlugin

    def say(line):
        os.write(1, f"{line}\\n".encode())  # in one piece: two threads speak

    class Tell(BasePlugin):
        def on_run_end(self, ctx, outcome):
            say(f"outcome {outcome.kind}")

    agent = LlmAgent(name="agent", model=ChatCompletions("any", base_url=sys.argv[1]))
    service = SqliteSessionService(sys.argv[2])
    runner = Runner(agent, app_name="app", session_service=service, plugins=[Tell("tell")])
    try:
        for event in runner.run("me", "s", "Hi", RunConfig(streaming_mode="sse")):
            say(event.text)
    except KeyboardInterrupt:
        say("interrupted")
    runner.close()
""")


@pytest.mark.promise("J4", "keyboard_interrupt")
def test_keyboard_interrupt(tmp_path: Path) -> None:
    """Ctrl-C in a process that waits for the next event disposes the run, and reaches the program."""
    path = tmp_path / "log.db"
    with ChatServer([["Once ", stall()]]) as server:
        child = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED, server.base_url, str(path)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        with child:
            assert child.stdout is not None
            assert child.stdout.readline() == "Once \n"
            os.kill(child.pid, signal.SIGINT)
            rest = child.stdout.read().split("\n")
            assert server.requests[0].wait_gone() is not None
        assert child.returncode == 0
    assert sorted(rest) == ["", "interrupted", "outcome disposed"]
    service = SqliteSessionService(path)
    assert said(log(runner_of(service=service))) == ["user: Hi"]
    service.close()


def test_a_handle_has_one_reader(world: World) -> None:
    """A handle that is being read refuses a second reader."""
    with world.runner.start(USER, "s", "Hi", SSE) as run:
        next(events := iter(run))
        with pytest.raises(UsageError, match="read already"):
            next(iter(run))
        events.close()  # type: ignore[attr-defined]
