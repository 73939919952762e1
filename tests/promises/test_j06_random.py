"""Leaving agents that nobody has thought of at every instant. J6."""

from __future__ import annotations

import pytest

from rxagent import App, ResumabilityConfig, Runner
from rxagent.testing import cancel_everywhere

from .random_agents import random_agent

SEEDS = range(16)


@pytest.mark.promise("J6", "llm")
@pytest.mark.promise("A5")
@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
@pytest.mark.parametrize("seed", SEEDS)
def test_left_anywhere(seed: int, resumable: bool) -> None:
    """Whatever the agent: nothing happens after a dispose or an abort, the log is valid, and the next message works."""
    config = ResumabilityConfig(resumable=resumable)
    report = cancel_everywhere(
        lambda: Runner(app=App("app", random_agent(seed), resumability_config=config)), "Hi", how=("dispose", "abort")
    )
    assert len(report.points) > 5
