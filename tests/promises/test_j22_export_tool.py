"""The export tool of the README in runs: an executor job behind a Single, chunks keyed by the call id."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rxagent import Single, SingleEmitter, SqliteSessionService, ToolContext
from rxagent.events.pairing import open_calls
from rxagent.runner import Runner
from rxagent.streams import Stopped
from rxagent.testing.scripted_model import ScriptedModel, call
from tests.runner.driving import USER, Consumer, Ends, log, runner_of, said

from .desk import MODES, mode

CHUNKS = ("a", "b", "c")


class Chunked:
    """The chunks of a report, one after another; each is given out when it is let go."""

    def __init__(self) -> None:
        self.asked = {chunk: threading.Event() for chunk in CHUNKS}
        self.free = {chunk: threading.Event() for chunk in CHUNKS}
        self.fails = False

    def let(self, *chunks: str) -> None:
        for chunk in chunks:
            self.free[chunk].set()

    def chunks(self, report_id: str) -> Iterator[str]:
        for chunk in CHUNKS:
            self.asked[chunk].set()
            assert self.free[chunk].wait(5)
            if self.fails:
                raise OSError(f"report {report_id} is gone")
            yield chunk


class Written:
    """Chunks by call id: an upsert."""

    def __init__(self) -> None:
        self.writes: list[tuple[str, str]] = []

    def write_chunk(self, call_id: str, chunk: str) -> None:
        self.writes.append((call_id, chunk))

    @property
    def rows(self) -> set[tuple[str, str]]:
        return set(self.writes)


class World:
    """The tool, line by line, and what it works on."""

    def __init__(self) -> None:
        self.reports, self.exports, self.ends = Chunked(), Written(), Ends()
        self.pool = ThreadPoolExecutor(1)

    def tool(self) -> Any:
        reports, exports, POOL = self.reports, self.exports, self.pool

        def export_report(report_id: str, tool_context: ToolContext) -> Single[dict[str, Any]]:
            """Export a report, chunk by chunk."""
            call_id = tool_context.function_call_id  # the idempotency key

            def start(emitter: SingleEmitter[dict[str, Any]]) -> None:
                def work() -> None:
                    try:
                        for chunk in reports.chunks(report_id):
                            if emitter.is_disposed:
                                return  # stop between chunks
                            exports.write_chunk(call_id, chunk)  # upsert keyed by call_id
                        emitter.on_success({"status": "done", "export_id": call_id})
                    except Exception as error:
                        emitter.on_success({"status": "error", "message": str(error)})

                job = POOL.submit(work)
                emitter.set_cancellable(job.cancel)

            return Single.create(start)

        return export_report

    def runner(self, service: Any = None) -> Runner:
        model = ScriptedModel([call.with_id("c7", "export_report", report_id="7")], "Done.")
        return runner_of(model, tools=[self.tool()], plugins=[self.ends], service=service)

    def idle(self) -> None:
        """Every job that was begun has ended."""
        self.pool.submit(int).result(5)


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.reports.let(*CHUNKS)
    made.pool.shutdown()


@pytest.mark.promise("J22")
@pytest.mark.parametrize("tool_mode", MODES)
def test_to_its_end(world: World, tool_mode: Any) -> None:
    """Undisturbed, each chunk is written once under the call id, and the model is told."""
    world.reports.let(*CHUNKS)
    runner = world.runner()
    consumer = Consumer().of(runner.run_async(USER, "s", "Export 7", mode(tool_mode))).wait()
    assert consumer.events[1].function_responses[0].response == {"status": "done", "export_id": "c7"}
    assert world.exports.writes == [("c7", chunk) for chunk in CHUNKS]
    assert said(consumer.events)[-1] == "agent: Done."


@pytest.mark.promise("J22")
def test_its_own_failure(world: World) -> None:
    """What fails in the job is a result in the tool's own words, and the run goes on."""
    world.reports.fails = True
    world.reports.let(*CHUNKS)
    consumer = Consumer().of(world.runner().run_async(USER, "s", "Export 7")).wait()
    assert consumer.events[1].function_responses[0].response == {"status": "error", "message": "report 7 is gone"}
    assert world.ends.next().kind == "completed"


@pytest.mark.promise("J22")
@pytest.mark.parametrize("tool_mode", MODES)
def test_left_in_the_middle(world: World, tool_mode: Any) -> None:
    """Left between two chunks: the job writes no further chunk, its normal return makes no success, the log keeps the
    call without a response; the end does not wait for the job."""
    runner = world.runner()
    consumer = Consumer().of(runner.run_async(USER, "s", "Export 7", mode(tool_mode)))
    world.reports.let("a")
    assert world.reports.asked["b"].wait(5)
    consumer.dispose()
    assert world.ends.next().kind == "disposed"
    world.reports.let("b", "c")
    world.idle()
    assert world.exports.writes == [("c7", "a")]
    assert said(log(runner)) == ["user: Export 7", "agent: call(export_report)"]
    assert [one.call_id for one in open_calls(log(runner))] == ["c7"]
    assert world.ends.after_run == []


@pytest.mark.promise("J22")
def test_left_before_its_job_began(world: World) -> None:
    """Left while the pool is busy: the job is taken back, and never begins."""
    busy = threading.Event()
    world.pool.submit(busy.wait, 5)
    consumer = Consumer().of(world.runner().run_async(USER, "s", "Export 7"))
    consumer.next()
    time_out = time.monotonic() + 5
    while not world.pool._work_queue.qsize() and time.monotonic() < time_out:  # the job is in the pool's line
        time.sleep(0.001)
    consumer.dispose()
    assert world.ends.next().kind == "disposed"
    busy.set()
    world.idle()
    assert not world.reports.asked["a"].is_set()


@pytest.mark.promise("J22")
def test_a_rerun_overwrites(world: World, tmp_path: Path) -> None:
    """The same call again, after a run that was left and of whose session nothing is kept, overwrites its rows."""
    service = SqliteSessionService(tmp_path / "log.db")
    consumer = Consumer().of(world.runner(service).run_async(USER, "s", "Export 7"))
    world.reports.let("a", "b")
    assert world.reports.asked["c"].wait(5)
    consumer.dispose()
    world.ends.next()
    world.reports.let("c")
    world.idle()
    service.delete_session("app", USER, "s")
    Consumer().of(world.runner(service).run_async(USER, "s", "Export 7")).wait()
    assert world.exports.writes == [("c7", "a"), ("c7", "b"), ("c7", "a"), ("c7", "b"), ("c7", "c")]
    assert world.exports.rows == {("c7", chunk) for chunk in CHUNKS}
    service.close()


# -- tools that catch the stop -----------------------------------------------------------------------------------------


class Catching:
    """Tools that catch what stops them, and return as if all were well."""

    def __init__(self) -> None:
        self.started, self.caught = threading.Event(), threading.Event()

    async def coroutine(self) -> str:
        """Wait."""
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.caught.set()
        return "done"

    def waiting(self, tool_context: Any) -> str:
        """Wait on the run's scope."""
        self.started.set()
        try:
            tool_context.scope.sleep(5)
        except Stopped:
            self.caught.set()
        return "done"

    def polling(self, tool_context: Any) -> str:
        """Look at the flag."""
        stopped = threading.Event()
        tool_context.on_abort(stopped.set)
        self.started.set()
        assert stopped.wait(5)
        assert tool_context.is_aborted
        self.caught.set()
        return "done"

    def single(self, tool_context: Any) -> Single[str]:
        """Succeed when cancelled."""

        def start(emitter: SingleEmitter[str]) -> None:
            def cancelled() -> None:
                emitter.on_success("done")
                self.caught.set()

            emitter.set_cancellable(cancelled)
            self.started.set()

        return Single.create(start)


@pytest.mark.promise("J22")
@pytest.mark.parametrize("kind", ["coroutine", "waiting", "polling", "single"])
@pytest.mark.parametrize("tool_mode", MODES)
def test_a_caught_stop_is_no_success(kind: str, tool_mode: Any) -> None:
    """A tool that catches the stop and returns normally does not turn a run that was left into a success: its result
    is stored nowhere, the model is not called, after-run does not run."""
    catching, ends, after_tool = Catching(), Ends(), list[str]()
    model = ScriptedModel([call("other"), call(kind)], "never")

    def other() -> str:
        """Work."""
        return "other"

    def note(tool: Any, args: Any, ctx: Any, result: Any) -> None:
        after_tool.append(tool.name)

    runner = runner_of(model, tools=[other, getattr(catching, kind)], plugins=[ends], after_tool_callback=note)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", mode(tool_mode)))
    assert catching.started.wait(5)
    consumer.dispose()
    assert catching.caught.wait(5)
    assert ends.next().kind == "disposed"
    assert said(log(runner)) == ["user: Hi", f"agent: call(other) call({kind})"]
    assert (len(model.calls), consumer.ends, ends.after_run) == (1, [], [])
    assert kind not in after_tool
