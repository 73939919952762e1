"""rxagent and its peers under the same work, in turn: metric by metric, system by system, round by round.

    RXAGENT_BENCH_PEERS=FOLDER RXAGENT_BENCH_JAVA=COMMAND python tests/bench/bench_beside.py [METRIC...]

FOLDER holds a virtual environment for each peer, named as its package: google-adk, pydantic-ai-slim, openai-agents,
langgraph. COMMAND measures ADK Java: it takes `--json --only METRIC` and prints a document as in `measuring.py`.
Without the variables rxagent runs alone. RXAGENT_BENCH_ROUNDS: 2 by default.

Prints JSON: each figure is the median over the rounds, with those of the peers, and `ratio`, the best peer's CPU over
rxagent's; and a table on standard error.
"""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.standard import METRICS

HERE = Path(__file__).parent
OURS = "rxagent"
PEERS = ("google-adk", "pydantic-ai-slim", "openai-agents", "langgraph")
JAVA = "adk-java"
DEFAULT = (
    "import_ms,startup_first_event,runs_1event.mem,toolloop10.mem,stream1000.mem,stream1000_by_run.mem,turn_at_10.mem,"
    "turn_at_1000.mem,turn_at_5000.mem,runs_1event.sqlite,toolloop10.sqlite,stream1000.sqlite,turn_at_5000.sqlite"
)
LONGEST = 300  # seconds for one metric of one system
Figures = dict[str, dict[str, list[Any]]]


class System(NamedTuple):
    """Who is measured, and by what command."""

    name: str
    command: tuple[str, ...]

    def names(self, metric: str) -> str:
        """What it calls the metric: a peer without sessions has none in memory, and one way to stream."""
        if self.name in (OURS, JAVA):
            return metric
        name, _, kind = metric.replace("_by_run", "").partition(".")
        return f"{name}.mem,{name}.none" if kind == "mem" else f"{name}.{kind}" if kind else name

    def measure(self, metric: str) -> list[Any]:
        """Its figures; none where it does not have this metric."""
        only = "startup" if self.name == JAVA and metric == "startup_first_event" else self.names(metric)
        command = [*self.command, "--only", only]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
        lines = done.stdout.strip().splitlines()
        if done.returncode or not lines:
            print(f"{self.name}, {metric}: {done.stderr[-500:]}", file=sys.stderr)
            return []
        results: dict[str, Any] = json.loads(lines[-1])["results"]
        asked = self.names(metric).split(",")
        return [figure for name, figure in results.items() if name in asked]


def systems() -> list[System]:
    """Those that are there."""
    found = [System(OURS, (sys.executable, str(HERE / "standard.py")))]
    folder = Path(os.environ.get("RXAGENT_BENCH_PEERS", ""))
    for name in PEERS if os.environ.get("RXAGENT_BENCH_PEERS") else ():
        python = folder / name / "bin" / "python"
        script = HERE / "peers" / f"{name.removesuffix('-slim').replace('-', '_')}.py"
        if python.exists():
            found.append(System(name, (str(python), "-W", "ignore", str(script))))
    if java := os.environ.get("RXAGENT_BENCH_JAVA"):
        found.append(System(JAVA, (*shlex.split(java), "--json")))
    return found


def cost(figure: Any) -> float:
    """What is compared: CPU time."""
    return float(figure.get("cpu_median", figure["median"]))


def measure(metrics: list[str], rounds: int) -> Figures:
    """All figures, by metric and system: in each round each system once, so that a busy machine is busy for all."""
    found: Figures = {metric: defaultdict(list) for metric in metrics}
    for _ in range(rounds):
        for metric in metrics:
            print(f"  {metric}", file=sys.stderr, flush=True)
            for system in systems():
                if figures := system.measure(metric):
                    found[metric][system.name].append(min(figures, key=cost))
    return found


def summary(figures: dict[str, list[Any]]) -> dict[str, Any]:
    """One metric: ours, with the peers beside it."""
    medians = {name: _median(several) for name, several in figures.items()}
    ours = medians.pop(OURS)
    python = {name: cost(figure) for name, figure in medians.items() if name != JAVA}
    if python:
        best = min(python, key=lambda name: python[name])
        ours |= {"best_peer": best, "ratio": round(python[best] / cost(ours), 2)}
    return ours | ({"peers": medians} if medians else {})


def _median(figures: list[Any]) -> dict[str, Any]:
    keys = [key for key in ("median", "cpu_median") if key in figures[0]]
    units = {key: figures[0][key] for key in ("unit", "cpu_unit") if key in figures[0]}
    return {key: round(statistics.median(figure[key] for figure in figures), 4) for key in keys} | units


def table(results: dict[str, Any]) -> str:
    """CPU in milliseconds, and wall time beside it where that is a time."""
    names = [name for name in (*PEERS, JAVA) if any(name in result.get("peers", {}) for result in results.values())]
    lines = ["| CPU, ms | " + " | ".join((OURS, *names, "best : ours")) + " |", "|---" * (len(names) + 3) + "|"]
    for metric, result in results.items():
        cells = [f"{cost(result):.3g}"]
        cells += [f"{cost(result['peers'][name]):.3g}" if name in result.get("peers", {}) else "-" for name in names]
        lines.append(f"| {metric} | " + " | ".join((*cells, str(result.get("ratio", "-")))) + " |")
    return "\n".join(lines)


def main(metrics: list[str]) -> None:
    unknown = set(metrics) - METRICS.keys()
    if unknown:
        sys.exit(f"no such metric: {', '.join(sorted(unknown))}; there are: {', '.join(METRICS)}")
    found = measure(metrics or DEFAULT.split(","), int(os.environ.get("RXAGENT_BENCH_ROUNDS", "2")))
    results = {metric: summary(figures) for metric, figures in found.items() if OURS in figures}
    print(table(results), file=sys.stderr)
    from importlib.metadata import version

    print(json.dumps({"system": OURS, "version": version(OURS), "results": results}, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
