"""`python -m tests.stops`: what google-adk leaves of a stopped run, and what we leave, as a Markdown table.

With RXAGENT_BENCH_PEERS, the folder with the peers' environments, google-adk's side is played by
`$RXAGENT_BENCH_PEERS/google-adk/bin/python`; without it only ours is shown.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .ours import ROOT, Ours
from .rows import ROWS, played

__all__ = ["main", "our_rows", "their_rows"]


def our_rows(names: list[str] | None = None) -> dict[str, str]:
    """Play the rows on rxagent."""
    results: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names or ROWS:
            s = Ours(Path(tempfile.mkdtemp(dir=folder)))
            results[name] = asyncio.run(played(s, name))
            s.close()
    return results


def their_rows(python: Path) -> Any:
    """Play them on google-adk, in its own interpreter."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    played = subprocess.run(
        [str(python), "-m", "tests.stops.theirs"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(played.stdout.splitlines()[-1])


def main() -> int:
    """Print the table."""
    folder = os.environ.get("RXAGENT_BENCH_PEERS")
    python = Path(folder, "google-adk", "bin", "python") if folder else None
    theirs = their_rows(python) if python is not None and python.exists() else None
    head = ["#", "scenario", *([f"{theirs['system']} leaves"] if theirs else []), "we leave"]
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for name, result in our_rows().items():
        title = " ".join((ROWS[name].__doc__ or "").split())
        cells = [name, title, *([theirs["rows"].get(name, "")] if theirs else []), result]
        print("| " + " | ".join(cell.replace(" | ", "; ") for cell in cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
