"""Runs with a scripted model that answers at once: the metrics and work sizes of the benches of the peers.

usage: python tests/bench/bench_runs.py [--repeats 5] [--services mem,sqlite] [--only SUBSTR] [--quick]
Prints one JSON document. `cpu_median` is CPU time, which compares better than wall time on a shared machine.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata as metadata
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rxagent import Content, Event, FunctionCall, LlmAgent, Part, RunConfig, Runner
from rxagent.models import BaseLlm, LlmRequest, LlmResponse
from rxagent.sessions import BaseSessionService, InMemorySessionService, SqliteSessionService
from rxagent.streams import Blocking, CancelScope

SSE = RunConfig(streaming_mode="sse")
WORDS = "lorem ipsum " * 5


class Fake(BaseLlm):
    """A model that plays a function."""

    def __init__(self, answer: Callable[[LlmRequest, CancelScope], Iterator[LlmResponse]]) -> None:
        super().__init__("fake")
        self._answer = answer

    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Blocking[LlmResponse]:
        return Blocking(lambda scope: self._answer(llm_request, scope))


def one(request: LlmRequest, scope: CancelScope) -> Iterator[LlmResponse]:
    yield LlmResponse(content=Content.model("hello"))


def loop(request: LlmRequest, scope: CancelScope) -> Iterator[LlmResponse]:
    calls = 0
    for content in reversed(request.contents):
        parts = content.parts or ()
        if any(part.function_response is not None for part in parts):
            calls += 1
        elif not any(part.function_call is not None for part in parts):
            break
    if calls < 10:
        call = FunctionCall(name="add", args={"a": calls, "b": 1})
        yield LlmResponse(content=Content(role="model", parts=(Part(function_call=call),)))
    else:
        yield LlmResponse(content=Content.model("done"))


def stream(request: LlmRequest, scope: CancelScope) -> Iterator[LlmResponse]:
    for _ in range(1000):
        yield LlmResponse(content=Content.model("chunk "), partial=True)
    yield LlmResponse(content=Content.model("chunk " * 1000))


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def runner(answer: Any, service: BaseSessionService, tools: tuple[Any, ...] = ()) -> Runner:
    agent = LlmAgent(name="root", model=Fake(answer), instruction="You help.", tools=tools)
    return Runner(agent, app_name="app", session_service=service)


def service(kind: str) -> BaseSessionService:
    if kind == "mem":
        return InMemorySessionService()
    return SqliteSessionService(Path(tempfile.mkdtemp()) / "s.db")


def drain(target: Runner, session_id: str, config: RunConfig | None = None) -> int:
    return sum(1 for _ in target.run("u", session_id, "hi", config))


def timed(work: Callable[[int], object], n: int) -> tuple[float, float]:
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    for index in range(n):
        work(index)
    return time.perf_counter() - wall, time.process_time() - cpu


def summary(values: list[float], unit: str, better: str = "higher", **more: Any) -> dict[str, Any]:
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "unit": unit,
        "better": better,
        "n": len(values),
        **more,
    }


def rate(kind: str, answer: Any, tools: tuple[Any, ...], n: int, repeats: int, per: int = 1, config: Any = None) -> Any:
    target = runner(answer, service(kind), tools)
    drain(target, "warm", config)
    rates, cpus = [], []
    for repeat in range(repeats):
        for index in range(n):
            target.session_service.create_session("app", "u", None, f"s{repeat}.{index}")
        wall, cpu = timed(lambda index, repeat=repeat: drain(target, f"s{repeat}.{index}", config), n)  # type: ignore[misc]
        rates.append(n * per / wall)
        cpus.append(cpu / n * 1e3)
    unit = "runs/s" if per == 1 else "events/s"
    return summary(rates, unit, cpu_median=statistics.median(cpus), cpu_unit="ms/run")


def prefill(target: BaseSessionService, session_id: str, n: int) -> None:
    session: Any = target.create_session("app", "u", None, session_id)
    for start in range(0, n, 500):
        events = [
            Event(
                invocation_id=f"i{index // 2}",
                author="user" if index % 2 == 0 else "root",
                content=(Content.user if index % 2 == 0 else Content.model)(f"message number {index} {WORDS}"),
            )
            for index in range(start, min(start + 500, n))
        ]
        target.append_events(session, events)


def growth(kind: str, n: int, repeats: int, answer: Any = one, tools: tuple[Any, ...] = ()) -> Any:
    target = runner(answer, service(kind), tools)
    prefill(target.session_service, "s", n)
    drain(target, "s")
    took = [timed(lambda _: drain(target, "s"), 1) for _ in range(repeats)]
    cpu = statistics.median(cpu * 1e3 for _, cpu in took)
    return summary([wall * 1e3 for wall, _ in took], "ms/turn", "lower", cpu_median=cpu, cpu_unit="ms")


def cancel_idle(kind: str, repeats: int) -> Any:
    took = []
    for index in range(repeats + 3):
        started = threading.Event()

        def idle(request: LlmRequest, scope: CancelScope, started: Any = started) -> Iterator[LlmResponse]:
            started.set()
            scope.sleep(60)
            yield LlmResponse()

        handle = runner(idle, service(kind)).start("u", f"s{index}", "hi")
        started.wait()
        time.sleep(0.01)
        begun = time.perf_counter()
        handle.dispose()
        handle.wait()
        took.append((time.perf_counter() - begun) * 1e3)
    took = sorted(took[3:])
    return summary(took, "ms", "lower", p95=took[int(len(took) * 0.95)])


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def concurrent(n: int = 1000) -> dict[str, float]:
    gate, waiting = threading.Event(), threading.Semaphore(0)

    def idle(request: LlmRequest, scope: CancelScope) -> Iterator[LlmResponse]:
        waiting.release()
        inbox: Any = __import__("queue").SimpleQueue()
        take_back = gates.append(inbox)
        scope.wait(inbox)
        assert take_back is None
        yield LlmResponse(content=Content.model("late"))

    gates: list[Any] = []
    target = runner(idle, InMemorySessionService(), (add,))
    for index in range(n + 1):
        target.session_service.create_session("app", "u", None, f"s{index}")
    warm = target.start("u", f"s{n}", "hi")
    waiting.acquire()
    gc.collect()
    before, begun = resident(), time.perf_counter()
    handles = [target.start("u", f"s{index}", "hi") for index in range(n)]
    for _ in range(n):
        waiting.acquire()
    up = time.perf_counter() - begun
    gc.collect()
    kib = (resident() - before) / n / 1024
    begun = time.perf_counter()
    for inbox in gates:
        inbox.put(True)
    for handle in [warm, *handles]:
        handle.wait()
    gate.set()
    return {"kib": kib, "up_s": up, "down_s": time.perf_counter() - begun}


def fresh(*args: str) -> Any:
    done = subprocess.run([sys.executable, __file__, *args], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def import_cost(repeats: int) -> Any:
    code = "import time; t=time.perf_counter(); c=time.process_time(); import rxagent; rxagent.Runner; rxagent.LlmAgent; print(time.perf_counter()-t, time.process_time()-c)"
    took = []
    for _ in range(repeats + 1):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        took.append((float(done[0]) * 1e3, float(done[1]) * 1e3))
    cpu = statistics.median(cpu for _, cpu in took[1:])
    return summary([wall for wall, _ in took[1:]], "ms", "lower", cpu_median=cpu, cpu_unit="ms")


def first_event(repeats: int) -> Any:
    took = []
    for _ in range(repeats + 1):
        begun = time.perf_counter()
        cpu = fresh("--one", "first")["cpu_ms"]
        took.append(((time.perf_counter() - begun) * 1e3, cpu))
    cpu = statistics.median(cpu for _, cpu in took[1:])
    return summary([wall for wall, _ in took[1:]], "ms", "lower", cpu_median=cpu, cpu_unit="ms")


def results(args: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def measure(name: str, work: Callable[[], Any]) -> None:
        if args.only in name:
            found[name] = work()

    repeats = args.repeats
    measure("import_ms", lambda: import_cost(repeats))
    measure("startup_first_event", lambda: first_event(repeats))
    for kind in args.services.split(","):
        n1, n2 = (200, 20) if kind == "mem" else (30, 4)
        measure(f"runs_1event.{kind}", lambda: rate(kind, one, (), n1, repeats))
        measure(f"toolloop10.{kind}", lambda: rate(kind, loop, (add,), n2, repeats))
        measure(f"stream1000.{kind}", lambda: rate(kind, stream, (), 2, repeats, 1001, SSE))
        for n in (10, 100, 1000) if args.quick else (10, 100, 1000, 5000):
            measure(f"turn_at_{n}.{kind}", lambda: growth(kind, n, repeats))
        measure(f"toolloop10_at_1000.{kind}", lambda: growth(kind, 1000, repeats, loop, (add,)))
        measure(f"cancel_idle_model.{kind}", lambda: cancel_idle(kind, 20))
    if args.only in "mem_concurrent_run":
        got = [fresh("--one", "runs") for _ in range(repeats)]
        found["mem_concurrent_run"] = summary([g["kib"] for g in got], "KiB/run awaiting model (1000)", "lower")
        found["concurrent1000_start"] = summary([g["up_s"] for g in got], "s to start 1000 runs", "lower")
        found["concurrent1000_finish"] = summary([g["down_s"] for g in got], "s to finish 1000 runs", "lower")
    return found


def main() -> None:
    logging.disable(logging.CRITICAL)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--services", default="mem,sqlite")
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true", help="the only form there is")
    parser.add_argument("--one", choices=("runs", "first"))
    args = parser.parse_args()
    if args.one == "runs":
        print(json.dumps(concurrent()))
    elif args.one == "first":
        drain(runner(one, InMemorySessionService()), "s")
        print(json.dumps({"cpu_ms": time.process_time() * 1e3}))
    else:
        print(json.dumps({"system": "rxagent", "version": metadata.version("rxagent"), "results": results(args)}))


if __name__ == "__main__":
    main()
