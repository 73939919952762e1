"""Figures of runs: what one costs, what a partial costs by each way of taking it, and what a waiting one holds.

    python tests/bench/bench_runs.py [rounds]

Prints JSON: medians over the rounds, wall clock and CPU.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rxagent.agents import LlmAgent
from rxagent.invocation import RunConfig
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel, call, gate

PARTIALS = 1_000
WAITING = 1_000
SSE = RunConfig(streaming_mode="sse")
LIMIT = 60.0


def work(number: int = 0) -> dict[str, int]:
    """Do a little."""
    return {"number": number}


class Bench:
    """Runs of one runner, each in a session of its own."""

    def __init__(self, *turns: Any) -> None:
        self._turns = turns
        self._count = 0
        self._runner = self._fresh()

    def _fresh(self) -> Runner:
        model = ScriptedModel(*self._turns, repeat_last=True)
        return Runner(LlmAgent(name="agent", model=model, tools=[work]))

    def stream(self, config: RunConfig | None = None) -> Any:
        """The next run."""
        self._count += 1
        if len(self._turns) > 1:
            self._runner = self._fresh()  # the script from its beginning
        return self._runner.run_async("me", f"s{self._count}", "Hi", config)

    def subscribed(self, config: RunConfig | None = None) -> None:
        """One run by subscribe."""
        ended = threading.Event()
        self.stream(config).subscribe(None, print, ended.set)
        assert ended.wait(LIMIT)

    def iterated(self, config: RunConfig | None = None) -> None:
        """One run by `run()`."""
        for _ in self.stream(config).run():
            pass

    def read(self, config: RunConfig | None = None) -> None:
        """One run by `async for`."""

        async def main() -> None:
            async for _ in self.stream(config):
                pass

        asyncio.run(main())


def measure(work: Callable[[], object], rounds: int, times: int, scale: float, unit: str) -> dict[str, object]:
    work()
    wall, cpu = [], []
    for _ in range(rounds):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        for _ in range(times):
            work()
        wall.append((time.perf_counter() - wall_start) * scale / times)
        cpu.append((time.process_time() - cpu_start) * scale / times)
    return {
        "median": round(statistics.median(wall), 3),
        "unit": unit,
        "cpu_median": round(statistics.median(cpu), 3),
    }


def resident() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


def waiting_runs() -> dict[str, dict[str, object]]:
    """What 1,000 runs that wait in their model hold, each with its thread; and how soon all are out after a dispose."""
    arrived, never = threading.Semaphore(0), threading.Event()
    bench = Bench([lambda _: arrived.release(), lambda scope: scope.sleep(LIMIT), gate(never)])
    runner = bench._runner
    gc.collect()
    before, start = resident(), time.perf_counter()
    handles = [runner.start("me", f"w{number}", "Hi") for number in range(WAITING)]
    for _ in handles:
        assert arrived.acquire(timeout=LIMIT)
    started = time.perf_counter() - start
    gc.collect()
    held = (resident() - before) / WAITING / 1024
    start = time.perf_counter()
    for handle in handles:
        handle.dispose()
    disposed = time.perf_counter() - start
    for handle in handles:
        assert handle.wait(LIMIT) is not None
    over = time.perf_counter() - start
    return {
        "waiting_run_memory": {"median": round(held, 1), "unit": "KiB"},
        "start_1000_runs": {"median": round(started * 1e3, 1), "unit": "ms"},
        "dispose_1000_runs": {"median": round(disposed * 1e3, 1), "unit": "ms"},
        "all_1000_runs_out": {"median": round(over * 1e3, 1), "unit": "ms"},
    }


def main(rounds: int = 9) -> None:
    results = waiting_runs()  # first: later there is memory to be used again
    one = Bench("Hello.")
    loop = Bench(*([call("work", number=number)] for number in range(9)), "Done.")
    partials = Bench([str(number) for number in range(PARTIALS)])
    results["one_event_run"] = measure(one.subscribed, rounds, 100, 1e6, "us")
    results["ten_step_run"] = measure(loop.subscribed, rounds, 10, 1e6, "us")
    per = 1e6 / PARTIALS
    results["partial_by_subscribe"] = measure(lambda: partials.subscribed(SSE), rounds, 1, per, "us")
    results["partial_by_run"] = measure(lambda: partials.iterated(SSE), rounds, 1, per, "us")
    results["partial_by_async_for"] = measure(lambda: partials.read(SSE), rounds, 1, per, "us")
    print(json.dumps({"system": "rxagent", "version": "0.1.0", "results": results}, indent=2))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
