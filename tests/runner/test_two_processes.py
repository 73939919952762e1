"""Runs of one session in two processes on one file: one at a time, none lost, and a killed owner is followed."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from rxagent.history.sealing import is_seal
from rxagent.testing.invariants import log_faults

from .driving import blocks
from .two_processes import contend

COUNT = int(os.environ.get("RXAGENT_TWO_PROCESSES", "30"))


@pytest.mark.promise("J16", "processes")
@pytest.mark.promise("J17")
def test_two_processes_on_one_session(tmp_path: Path) -> None:
    """Started at once in both, every tenth owner killed: never interleaved, never lost, followed within a second."""
    contest = contend(tmp_path / "log.db", COUNT)
    found = Counter[str]()
    for block in blocks([event for event in contest.events if not is_seal(event)]):
        message = block[0].removeprefix("user: ")
        found[message] += 1
        whole = [block[0], "agent: call(_work)", "agent: response(_work)", "agent: Done."]
        assert block == (whole[:3] if message in contest.killed else whole)
    assert list(log_faults(contest.events)) == []
    assert found == Counter([*contest.done, *contest.killed])
    assert len(contest.takeovers) == COUNT // 10
    assert max(contest.takeovers) < 1.0
