"""How all systems are measured: the same clocks, repeats and document. Standard library only, as peers use it, too.

A system is a Python file that names its metrics and ends in `main(name, metrics)`. Then

    python SYSTEM.py [--only METRIC,METRIC] [--repeats 5]

prints `{"system", "version", "results": {metric: {"median", "min", "max", "unit", "n", "cpu_median"?, "cpu_unit"?}}}`.
CPU is that of the whole process, all threads; it compares better than wall time on a shared machine.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Awaitable, Callable
from importlib import metadata
from typing import Any

Figure = dict[str, Any]
Metrics = dict[str, Callable[[int], Figure]]
"""By name; each takes the number of repeats."""

LENGTHS = (10, 100, 1000, 5000)
WORDS = "lorem ipsum " * 5


def figure(values: list[float], unit: str, cpus: list[float] | None = None, cpu_unit: str = "ms/run") -> Figure:
    """One metric: the median of the values, and of the CPU times."""
    made: Figure = {
        "median": round(statistics.median(values), 4),
        "min": round(min(values), 4),
        "max": round(max(values), 4),
        "unit": unit,
        "n": len(values),
    }
    if cpus is not None:
        made |= {"cpu_median": round(statistics.median(cpus), 4), "cpu_unit": cpu_unit}
    return made


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of one act; what was left to collect is collected before."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def rate(work: Callable[[list[Any]], object], n: int, repeats: int, *, fresh: Any = None, per: int = 1) -> Figure:
    """Runs, or events when a run gives `per` of them, in a second.

    work: does one run for each thing in the list that fresh(n) made, outside of the clocks.
    """
    make = fresh or (lambda count: [None] * count)
    work(make(1))
    walls, cpus = [], []
    for _ in range(repeats):
        things = make(n)
        wall, cpu = timed(lambda things=things: work(things))  # type: ignore[misc]
        walls.append(n * per / wall)
        cpus.append(cpu / n * 1e3)
    return figure(walls, "runs/s" if per == 1 else "events/s", cpus)


def turns(work: Callable[[], object], repeats: int) -> Figure:
    """One turn at a time on the same long session; the first one warms up."""
    work()
    took = [timed(work) for _ in range(repeats)]
    return figure([wall * 1e3 for wall, _ in took], "ms/turn", [cpu * 1e3 for _, cpu in took], "ms")


def imported(statement: str, repeats: int) -> Figure:
    """What an import costs in a new process."""
    code = f"import time; c=time.process_time(); t=time.perf_counter(); {statement}; "
    code += "print(time.perf_counter() - t, time.process_time() - c)"
    took = [_fresh_process("-c", code) for _ in range(repeats + 1)][1:]
    walls, cpus = zip(*(map(float, line.split()) for line, _ in took), strict=True)
    return figure([wall * 1e3 for wall in walls], "ms", [cpu * 1e3 for cpu in cpus], "ms")


def started(script: str, repeats: int) -> Figure:
    """From the start of a process to its end after one run: `SYSTEM.py --first`."""
    took = [_fresh_process(script, "--first") for _ in range(repeats + 1)][1:]
    cpus = [float(line) * 1e3 for line, _ in took]
    return figure([wall * 1e3 for _, wall in took], "ms from process start", cpus, "ms")


def _fresh_process(*args: str) -> tuple[str, float]:
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-W", "ignore", *args], capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[-1], time.perf_counter() - start


class Loop:
    """Runs coroutines of one asynchronous system, all on one loop."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def run(self, work: Awaitable[Any]) -> Any:
        async def main() -> Any:
            return await work

        return self._runner.run(main())

    def each(self, run: Callable[[Any], Awaitable[object]]) -> Callable[[list[Any]], object]:
        """Work for `rate`: the runs one after the other."""

        async def main(things: list[Any]) -> None:
            for thing in things:
                await run(thing)

        return lambda things: self.run(main(things))


def main(system: str, metrics: Metrics, first: Callable[[], object] | None = None) -> None:
    """Measure what the command line asks for."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="names of metrics, with commas between them")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first", action="store_true", help="one run in this new process, then its CPU time")
    args = parser.parse_args()
    if args.first and first is not None:
        first()
        print(time.process_time(), flush=True)
        os._exit(0)  # the end of a process is not measured
    wanted = set(args.only.split(",")) if args.only else metrics.keys()
    results = {name: measure(args.repeats) for name, measure in metrics.items() if name in wanted}
    print(json.dumps({"system": system, "version": metadata.version(system), "results": results}))
