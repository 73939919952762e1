"""Mutated and random byte streams through the parser: what they raise, what they cost, what memory they take.

    python tests/bench/bench_fuzz.py [streams] [seed]

Two processes share the streams, politely. Prints JSON; the exit code is 1 when a stream raised anything but an error of
rxagent, or when memory grew by more than 8 MiB above the limit; the bombs run against the default limits.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import time
from collections import Counter

from rxagent.models.wire_limits import WireLimits
from rxagent.testing.quirks_fuzz import fuzz
from rxagent.testing.quirks_memory import bombs_above

STREAMS = 1_000_000
PROCESSES = 2
LIMIT = 64 * 2**10  # bytes of an event
MIB = 2**20
ABOVE = 8.0  # MiB


def work(count: int, seed: int) -> tuple[Counter[str], list[str], float, float]:
    """Ends, faults, growth of the process in MiB, seconds of CPU."""
    os.nice(10)
    fuzz(5_000, seed + 1, longest=LIMIT)  # what the interpreter takes once
    before, begun = _peak(), time.process_time()
    report = fuzz(count, seed, longest=LIMIT)
    return report.ends, report.faults, _peak() - before, time.process_time() - begun


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(count: int = STREAMS, seed: int = 2026) -> int:
    """Run, print, judge."""
    begun = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        parts = pool.starmap(work, [(count // PROCESSES, seed + number) for number in range(PROCESSES)])
    seconds = time.perf_counter() - begun
    ends = sum((part[0] for part in parts), Counter[str]())
    faults = [fault for part in parts for fault in part[1]]
    grown = max(part[2] for part in parts)
    bombs = bombs_above(WireLimits())
    print(*faults, sep="\n", end="", file=sys.stderr)
    results: dict[str, object] = {
        "streams": {"median": ends.total(), "unit": "streams"},
        "outside_the_error_tree": {"median": sum(ends[end] for end in ends if end[0] == "!"), "unit": "streams"},
        "seconds": {"median": round(seconds, 1), "unit": "s"},
        "stream_cpu": {"median": round(sum(part[3] for part in parts) * 1e6 / ends.total(), 1), "unit": "us"},
        "process_grew": {"median": round(grown, 2), "unit": "MiB"},
        "worst_bomb_above_default_limit": {"median": round(max(bombs.values()), 2), "unit": "MiB"},
        **{f"end_{end.strip('! ')}": {"median": number, "unit": "streams"} for end, number in sorted(ends.items())},
    }
    print(json.dumps({"system": "rxagent", "version": "0.1.0", "results": results}, indent=2))
    return int(bool(faults) or grown > ABOVE + LIMIT / MIB or max(bombs.values()) > ABOVE)


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:])))
