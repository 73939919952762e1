"""One signal per run asks it to stop, from any thread, any loop and any process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

from rxagent.invocation import AbortSignal, InvocationContext, Outcome
from rxagent.plugins import BasePlugin
from rxagent.runner import Runner
from rxagent.sessions import SessionKey, SqliteSessionService
from rxagent.testing.scripted_model import ScriptedModel, pause
from tests.runner.driving import SSE, USER, Consumer, log, runner_of, said, within

from .stopping import aborted, next_turn, stage

ROOT = Path(__file__).parents[2]
STORY_OF_WORDS = ["Once ", pause(60), "upon"]
REASONS = ["user_stop", "client_disconnect", "request_timeout", "worker_shutdown", "the moon is full"]


@pytest.mark.promise("A1", "abort_signal")
@pytest.mark.promise("A2")
@pytest.mark.parametrize("reason", REASONS)
def test_a_thread_sets_it_during_the_run(tmp_path: Path, reason: str) -> None:
    """Set by another thread while the model is silent, with any reason: the model's call ends, the log says why."""
    with stage(tmp_path) as world:
        signal = AbortSignal()
        consumer = Consumer().of(world.runner.run_async(USER, "s", "Hi", SSE, abort_signal=signal))
        assert consumer.next().text == "Once "
        signal.set(reason)
        consumer.wait()
        assert (consumer.ends, signal.reason, signal.is_set()) == (["completed"], reason, True)
        assert aborted(consumer.events, reason).id == log(world.runner)[-1].id
        world.is_stopped(reason, "user: Hi")


@pytest.mark.promise("A1", "abort_signal")
def test_an_event_loop_sets_it() -> None:
    """Set on an event loop that is not the run's, twice: the first reason stays, one event tells of the abort."""
    runner = runner_of([STORY_OF_WORDS])
    signal = AbortSignal()
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE, abort_signal=signal))
    consumer.next()

    async def stop() -> None:
        signal.set("client_disconnect")
        signal.set("user_stop")

    asyncio.run(stop())
    consumer.wait()
    assert said(log(runner)) == ["user: Hi", "agent: "]
    aborted(log(runner), "client_disconnect")
    assert signal.reason == "client_disconnect"


@pytest.mark.promise("A1", "abort_signal")
def test_after_the_run_it_does_nothing() -> None:
    """Set when the run is over: nothing is stored, and the next run, with a signal of its own, is not touched."""
    runner, signal = runner_of(["Hello.", "Again."]), AbortSignal()
    Consumer().of(runner.run_async(USER, "s", "Hi", abort_signal=signal)).wait()
    signal.set()
    assert said(runner.run(USER, "s", "More", abort_signal=AbortSignal())) == ["agent: Again."]
    assert said(log(runner)) == ["user: Hi", "agent: Hello.", "user: More", "agent: Again."]


@pytest.mark.promise("A1", "threading_event")
def test_a_threading_event(tmp_path: Path) -> None:
    """A threading.Event works as a signal: it is only read, and set by whoever likes."""
    with stage(tmp_path) as world:
        event = threading.Event()
        consumer = Consumer().of(world.runner.run_async(USER, "s", "Hi", SSE, abort_signal=event))
        consumer.next()
        event.set()
        consumer.wait()
        world.is_stopped("user_stop", "user: Hi")


@pytest.mark.promise("A1", "asyncio_event")
@pytest.mark.promise("J4", "abort_signal")
def test_an_asyncio_event_as_in_adk_python(tmp_path: Path) -> None:
    """ADK Python's form: `async for event in runner.run_async(..., abort_signal=asyncio.Event())`, set inside it."""
    with stage(tmp_path) as world:

        async def main() -> list[str]:
            signal, seen = asyncio.Event(), []
            async for event in world.runner.run_async(
                user_id=USER, session_id="s", new_message="Hi", run_config=SSE, abort_signal=signal
            ):
                seen.append(event.error_code or event.text)
                signal.set()
            return seen

        seen = asyncio.run(main())
        assert (seen[0], seen[-1]) == ("Once ", "INVOCATION_ABORTED")
        world.is_stopped("user_stop", "user: Hi")


@pytest.mark.promise("A1", "asyncio_event")
def test_an_asyncio_event_that_a_thread_sets() -> None:
    """An asyncio.Event that is set by a plain thread stops the run, too: nobody has to wake a loop."""
    runner = runner_of([STORY_OF_WORDS])

    async def main() -> list[Any]:
        signal = asyncio.Event()
        seen = []
        async for event in runner.stream(USER, "s", "Hi", SSE, abort_signal=signal):
            seen.append(event)
            if len(seen) == 1:
                threading.Thread(target=signal.set).start()
        return seen

    aborted(asyncio.run(asyncio.wait_for(main(), 10)), "user_stop")


@pytest.mark.promise("J4", "abort_signal")
@pytest.mark.promise("A10")
def test_inside_the_first_on_next(tmp_path: Path) -> None:
    """A consumer stops the run inside its first `on_next`; the end of the story comes when that has returned."""
    with stage(tmp_path) as world:
        signal, ended_inside = AbortSignal(), list[list[str]]()

        def on_next(event: Any) -> None:
            if len(consumer.events) == 1:
                signal.set()
                assert within(lambda: len(log(world.runner)) == 2)  # stored while this consumer is busy
                ended_inside.append(consumer.ends[:])

        consumer = Consumer(on_next)
        consumer.of(world.runner.run_async(USER, "s", "Hi", SSE, abort_signal=signal)).wait()
        assert said(consumer.events) == ["agent~ Once ", "agent: "]
        assert (ended_inside, consumer.ends) == ([[]], ["completed"])
        world.is_stopped("user_stop", "user: Hi")


@pytest.mark.promise("J14", "aborted")
@pytest.mark.promise("A2")
@pytest.mark.promise("A12")
@pytest.mark.parametrize("door", ["signal", "handle", "deadline", "request_stop"])
def test_on_run_end_of_an_aborted_run(door: str, caplog: pytest.LogCaptureFixture) -> None:
    """Told once, before `on_completed`, with kind, reason and usage; one log record; after-run is not called."""
    order: list[str] = []

    class Told(BasePlugin):
        def on_run_end(self, ctx: InvocationContext, outcome: Outcome) -> None:
            order.append(f"{outcome.kind} ({outcome.reason})")

        def after_run_callback(self, ctx: InvocationContext) -> None:
            order.append("after run")

    runner, signal = runner_of([STORY_OF_WORDS], plugins=[Told("told")]), AbortSignal()
    config = SSE.model_copy(update={"timeout": 0.2}) if door == "deadline" else SSE
    caplog.set_level("INFO", "rxagent.run")
    if door == "handle":
        with runner.start(USER, "s", "Hi", config) as run:
            next(iter(run))
            run.abort("because")
            assert [event.error_code for event in run if not event.partial] == ["INVOCATION_ABORTED"]
            order.append("completed")
    else:
        consumer = Consumer().of(runner.run_async(USER, "s", "Hi", config, abort_signal=signal))
        consumer.next()
        if door == "signal":
            signal.set("because")
        elif door == "request_stop":
            key = SessionKey(runner.app_name, USER, "s")
            assert runner.session_service.request_stop(key, None, "because")
        consumer.wait()
        order += consumer.ends
    why = "request_timeout" if door == "deadline" else "because"
    assert order == [f"aborted ({why})", "completed"]
    [record] = [record for record in caplog.records if record.name == "rxagent.run"]
    assert (record.__dict__["outcome"], record.__dict__["reason"], record.__dict__["calls_sealed"]) == (
        "aborted",
        why,
        0,
    )


RUNS = textwrap.dedent("""
    import sys
    from rxagent import LlmAgent, RunConfig, Runner, SqliteSessionService
    from rxagent.testing import ScriptedModel, pause

    agent = LlmAgent(name="agent", model=ScriptedModel(["Once ", pause(60), "more"]))
    runner = Runner(agent, app_name="app", session_service=SqliteSessionService(sys.argv[1]))
    with runner.start("me", "s", "Hi", RunConfig(streaming_mode="sse")) as run:
        for event in run:
            print("EVENT", event.error_code or event.text, flush=True)
        print("OUTCOME", run.wait(10), flush=True)
""")


@pytest.mark.promise("A1")
@pytest.mark.promise("A16")
def test_another_process_asks(tmp_path: Path) -> None:
    """A stop request that another process stores in the shared file reaches the run, which seals and completes."""
    path = tmp_path / "log.db"
    with subprocess.Popen(
        [sys.executable, "-c", RUNS, str(path)], stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "EVENT Once \n"
        service = SqliteSessionService(path)
        assert service.request_stop(SessionKey("app", "me", "s"), None, "another process")
        assert child.stdout.readline() == "EVENT INVOCATION_ABORTED\n"
        assert child.stdout.readline().startswith("OUTCOME aborted (another process): 1 event saved")
        assert child.wait(10) == 0
    runner = runner_of(ScriptedModel([]), service=service)
    aborted(log(runner), "another process")
    next_turn(runner)
    service.close()


def test_a_signal_of_another_kind_is_refused() -> None:
    """What cannot be asked whether it is set is a TypeError at the call."""
    runner: Runner = runner_of()
    with pytest.raises(TypeError, match="an abort signal is an AbortSignal"):
        runner.run_async(USER, "s", "Hi", abort_signal="stop")  # type: ignore[arg-type]
