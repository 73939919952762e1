"""Leaving agents that nobody has thought of at every instant. J6."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rxagent import App, ResumabilityConfig, Runner
from rxagent.testing import cancel_everywhere
from rxagent.testing.everywhere import How

from .random_agents import random_agent

SEEDS = range(10)
WAYS: Sequence[How] = ("dispose", "abort", "abort_after_tool", "abort_after_turn")


@pytest.mark.promise("J6", "llm")
@pytest.mark.promise("A4")
@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
@pytest.mark.parametrize("seed", SEEDS)
def test_left_anywhere(seed: int, resumable: bool) -> None:
    """Whatever the agent, and however it is stopped: nothing happens that should not, it ends, its log is valid, and
    the next message works."""
    config = ResumabilityConfig(resumable=resumable)
    report = cancel_everywhere(
        lambda: Runner(app=App("app", random_agent(seed), resumability_config=config)), "Hi", how=WAYS
    )
    assert len(report.points) > 5
