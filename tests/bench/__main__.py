"""`python -m tests.bench [NAME...]`: run each bench_NAME.py in a process of its own, and print one JSON document.

A bench prints `{"system", "version", "results": {metric: {"median", "unit", ...}}}`; the metrics of all stand together
here, as `NAME.metric`. The exit code is 1 when a bench fails; the figures of the others are printed all the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
LIMIT = 3600  # seconds for one bench


def main(names: list[str]) -> int:
    """Run the benches of these names, all without any."""
    results: dict[str, Any] = {}
    failed = 0
    for path in sorted(FOLDER.glob("bench_*.py")):
        name = path.stem.removeprefix("bench_")
        if names and name not in names:
            continue
        print(f"bench {name}", file=sys.stderr, flush=True)
        ended = subprocess.run(
            [sys.executable, str(path)],
            cwd=FOLDER.parents[1],
            stdout=subprocess.PIPE,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        if ended.returncode:
            print(f"bench {name} failed with exit code {ended.returncode}", file=sys.stderr)
            failed = 1
            continue
        figures = json.loads(ended.stdout)["results"]
        results |= {f"{name}.{metric}": figure for metric, figure in figures.items()}
    print(json.dumps({"system": "rxagent", "version": version("rxagent"), "results": results}, indent=2))
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
