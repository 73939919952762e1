"""Figures of two processes that run turns of one session on one file, with a kill -9 of the owner in every tenth.

    python tests/bench/bench_two_processes.py [rounds]

Prints JSON: seconds from a kill to the other process at work; seconds for both to have had a turn.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.runner.two_processes import contend


def main(rounds: int = 200) -> None:
    with tempfile.TemporaryDirectory() as folder:
        contest = contend(Path(folder) / "log.db", rounds)
    results = {
        "takeover_after_kill": {"median": round(statistics.median(contest.takeovers) * 1e3, 1), "unit": "ms"},
        "takeover_after_kill_max": {"median": round(max(contest.takeovers) * 1e3, 1), "unit": "ms"},
        "a_turn_in_each_process": {"median": round(statistics.median(contest.rounds) * 1e3, 1), "unit": "ms"},
        "turns_done": {"median": len(contest.done), "unit": "turns"},
        "turns_killed": {"median": len(contest.killed), "unit": "turns"},
    }
    print(json.dumps({"system": "rxagent", "version": "0.1.0", "results": results}, indent=2))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
