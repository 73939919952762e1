"""Figures of the tools: making an agent's worth of them, telling a model of one, calling one.

    python tests/bench/bench_tools.py [rounds]

Prints JSON: medians over the rounds, wall clock and CPU.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, Literal

from reactivex import Observable

from rxagent import tools
from rxagent.streams.single import Single

CALLS = 2_000


def get_weather(city: str, unit: Literal["C", "F"] = "C", days: int | None = None) -> dict[str, object]:
    """Current weather.

    Args:
        city: Name of the city.
        unit: Temperature unit.
        days: How far to look ahead.
    """
    return {"city": city, "degrees": 21, "unit": unit}


def measure(work: Callable[[], object], rounds: int, per: int, unit: str) -> dict[str, object]:
    scale = {"us": 1e6, "ms": 1e3}[unit] / per
    wall, cpu = [], []
    for _ in range(rounds):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        work()
        wall.append((time.perf_counter() - wall_start) * scale)
        cpu.append((time.process_time() - cpu_start) * scale)
    return {
        "median": round(statistics.median(wall), 3),
        "unit": unit,
        "cpu_median": round(statistics.median(cpu), 3),
    }


def subscribe_often(make: Callable[[], Observable[Any]]) -> None:
    for _ in range(CALLS):
        make().subscribe(_ignore)


def _ignore(_: object) -> None: ...


def main(rounds: int = 15) -> None:
    tool = tools.FunctionTool(get_weather)
    tool.declaration()
    context: Any = None  # get_weather does not ask for it
    args = {"city": "Oslo", "unit": "F"}
    results = {
        "make_20_tools": measure(lambda: [tools.FunctionTool(get_weather) for _ in range(20)], rounds, 1, "ms"),
        "first_declaration": measure(lambda: tools.FunctionTool(get_weather).declaration(), rounds, 1, "ms"),
        "call": measure(lambda: subscribe_often(lambda: tool.run_async(args, context)), rounds, CALLS, "us"),
        "bare_single": measure(lambda: subscribe_often(lambda: Single.just({})), rounds, CALLS, "us"),
    }
    print(json.dumps({"system": "rxagent", "version": "0.1.0", "results": results}, indent=2))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
