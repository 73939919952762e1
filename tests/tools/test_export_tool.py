"""The cancellable export: an executor job behind a Single, a stop check between chunks, writes keyed by the call id."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from rxagent.streams.single import Single, SingleEmitter
from rxagent.tools import CallContext, FunctionTool

from .calls import Call, HandContext

CHUNKS = ["a", "b", "c"]


class Report:
    """Chunks that come one by one: `give()` lets the next one go, `taken` counts."""

    def __init__(self) -> None:
        self._gates = [threading.Event() for _ in CHUNKS]
        self.asked = [threading.Event() for _ in CHUNKS]
        self.fails = False

    def give(self, count: int) -> None:
        for gate in self._gates[:count]:
            gate.set()

    def chunks(self, report_id: str) -> Iterator[str]:
        for chunk, gate, asked in zip(CHUNKS, self._gates, self.asked, strict=True):
            asked.set()
            assert gate.wait(5)
            if self.fails:
                raise OSError(f"report {report_id} is gone")
            yield chunk


class Exports:
    """Rows by (call id, chunk): an upsert."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], int] = {}

    def write_chunk(self, call_id: str, chunk: str) -> None:
        self.rows[call_id, chunk] = self.rows.get((call_id, chunk), 0) + 1


@pytest.fixture
def world() -> Iterator[SimpleNamespace]:
    """The tool of the seed, line by line, and what it works on."""
    reports, exports = Report(), Exports()
    POOL = ThreadPoolExecutor(1)
    jobs_ended = threading.Semaphore(0)

    def export_report(report_id: str, tool_context: CallContext) -> Single[dict[str, Any]]:
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
                finally:
                    jobs_ended.release()

            job = POOL.submit(work)
            emitter.set_cancellable(job.cancel)

        return Single.create(start)

    with POOL:
        yield SimpleNamespace(
            tool=FunctionTool(export_report), reports=reports, exports=exports, pool=POOL, jobs_ended=jobs_ended
        )
        reports.give(len(CHUNKS))


def test_declared(world: SimpleNamespace) -> None:
    """The model sees the report's id alone."""
    assert world.tool.declaration().parameters["required"] == ["report_id"]
    assert list(world.tool.declaration().parameters["properties"]) == ["report_id"]


@pytest.mark.promise("J22")
def test_success(world: SimpleNamespace) -> None:
    """Undisturbed, every chunk is written once under the call id, and the result says so."""
    world.reports.give(3)
    ended = Call(world.tool, {"report_id": "7"}, HandContext("c1")).wait()
    assert ended.results == [{"status": "done", "export_id": "c1"}]
    assert world.exports.rows == {("c1", "a"): 1, ("c1", "b"): 1, ("c1", "c"): 1}


@pytest.mark.promise("J22")
def test_failure_is_told(world: SimpleNamespace) -> None:
    """An exception in the job is an error result of the tool's own words."""
    world.reports.fails = True
    world.reports.give(3)
    ended = Call(world.tool, {"report_id": "7"}).wait()
    assert ended.results == [{"status": "error", "message": "report 7 is gone"}]


@pytest.mark.promise("J22")
def test_stop_between_chunks(world: SimpleNamespace) -> None:
    """A dispose in the middle stops the job before the next write, and its normal return is no success."""
    world.reports.give(1)
    left = Call(world.tool, {"report_id": "7"}, HandContext("c1"))
    assert world.reports.asked[1].wait(5)  # the first chunk is written, the second is awaited
    left.handle.dispose()
    world.reports.give(3)
    assert world.jobs_ended.acquire(timeout=5)
    assert world.exports.rows == {("c1", "a"): 1}
    assert (left.results, left.errors, left.completed) == ([], [], False)


@pytest.mark.promise("J22")
def test_a_rerun_overwrites(world: SimpleNamespace) -> None:
    """The same call run again after a stop writes the same rows: nothing stands there twice."""
    world.reports.give(2)
    left = Call(world.tool, {"report_id": "7"}, HandContext("c1"))
    assert world.reports.asked[2].wait(5)
    left.handle.dispose()
    world.reports.give(3)
    assert world.jobs_ended.acquire(timeout=5)
    again = Call(world.tool, {"report_id": "7"}, HandContext("c1")).wait()
    assert again.results == [{"status": "done", "export_id": "c1"}]
    assert world.exports.rows == {("c1", "a"): 2, ("c1", "b"): 2, ("c1", "c"): 1}


@pytest.mark.promise("J22")
@pytest.mark.promise("J8")
def test_a_queued_job_is_taken_back(world: SimpleNamespace) -> None:
    """Disposed while its job waits for a thread, the tool never starts: the cancel action takes the job back."""
    first = Call(world.tool, {"report_id": "7"}, HandContext("c1"))
    assert world.reports.asked[0].wait(5)
    queued = Call(world.tool, {"report_id": "8"}, HandContext("c2"))
    queued.handle.dispose()
    world.reports.give(3)
    assert first.wait().results == [{"status": "done", "export_id": "c1"}]
    world.pool.submit(lambda: None).result(5)  # whatever was queued before has run
    assert {call_id for call_id, _ in world.exports.rows} == {"c1"}
    assert queued.results == []
