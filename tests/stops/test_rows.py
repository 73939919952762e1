"""What we leave of a stopped run, row by row; `python -m tests.stops` puts google-adk's beside it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from .__main__ import main
from .ours import Ours
from .rows import ROWS, played

LEFT = {
    "1": "U A | at once | next: wf | then U T",
    "2": "U A | at once | next: wf | then U T",
    "3": "U C X | at once | next: wf | then U T",
    "3b": "U C R | done: ['swallowing'] | next: wf | then U T",
    "4": "U C R | done: ['blocking'] | next: wf | then U T",
    "4b": "U C R | stops between chunks | next: wf | then U T",
    "5": "U C(2) R+X | done: ['fast'] | next: wf | then U T",
    "5b": "U C(2) R+X | state kept: True | next: wf | then U T",
    "6": "U C R A | at once",
    "6b": "U C X | at once | next: wf",
    "7": "U A | model calls: 0 | next: wf | then U T",
    "7b": "U T | next: wf | then U T",
    "8": "U C | next: wf | then X U T",
    "8b": "U C | next: wf | then X U T",
    "9": "U C | next: wf | then X U T",
    "9b": "U C X | next: wf | then U T",
    "10": "U C R C R T U T | next: wf | then U T",
    "11": "U A | events after the abort: a few | next: wf | then U T",
    "12": "U C(2) R+R T | next: wf | then U T",
    "12b": "U | next: wf | then U T",
    "13": "U A | at once | next: wf | then U T",
    "14": "U C | next: wf | then X U T",
    "14b": "U C R T end | model calls of the second resume: 0",
    "15": "U C X T end | the tool ran 0 times to its end",
    "15b": "U C R T end | the tool ran 1 times to its end",
    "16": "U C R T | next: wf",
    "20": "stale: StaleSessionError | an old time: last",
    "21": "U C | done: ['fast'] | next: wf | then X U T",
    "22": "U C X | next: wf | then U T",
    "23": "U C R C X | next: wf | then U T",
    "43": "U C(2) R+X | next: wf | then U T",
    "24": "U C | next: wf | then X U T",
    "33": "U C R A | next: wf | then U T",
    "36": "U C X U T | next: wf | then U T",
    "37": "U C R T U T | next: wf | then U T",
    "40": "U A | model call ended at once | next: wf | then U T",
    "41": "U C R T | the tool has started meanwhile | next: wf | then U T",
    "42": "U C X | bounded | next: wf | then U T",
    "45": "U C R T | next: wf | then U T",
    "30 sequential": "U A | at once",
    "30 loop": "U A | at once",
    "30 parallel": "U A | at once",
}
EITHER = {"7c"}
"""The reader's signal meets a tool that has started, or not: its result is real, or made up."""


@pytest.mark.parametrize("name", [*LEFT])
def test_a_row(name: str, tmp_path: Path) -> None:
    """The log of this scenario, what else is to be told of it, and what the next turn adds."""
    s = Ours(tmp_path)
    assert asyncio.run(played(s, name)) == LEFT[name]
    s.close()


def test_the_rows_that_may_go_two_ways(tmp_path: Path) -> None:
    """Set in the handler of the call's event: the tool has run and its result is kept, or it has not started."""
    assert asyncio.run(played(Ours(tmp_path), "7c")) in (
        "U C R | started: ['fast'] | next: wf | then U T",
        "U C X | started: [] | next: wf | then U T",
        "U C R A | started: ['fast'] | next: wf | then U T",
    )
    assert set(LEFT) | EITHER == set(ROWS)


def test_the_table_without_the_peer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without the peer's interpreter the command prints our side alone, a line for each row."""
    monkeypatch.setenv("RXAGENT_BENCH_PEERS", str(tmp_path))
    monkeypatch.setattr("tests.stops.__main__.ROWS", {name: ROWS[name] for name in ("1", "7b")})
    assert main() == 0
    assert capsys.readouterr().out.splitlines() == [
        "| # | scenario | we leave |",
        "|---|---|---|",
        "| 1 | abort before the first byte | U A; at once; next: wf; then U T |",
        "| 7b | set in the handler of the final event | U T; next: wf; then U T |",
    ]
