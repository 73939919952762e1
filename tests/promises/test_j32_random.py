"""Killing the processes of agents that nobody has thought of, and going on in others. J32."""

from __future__ import annotations

import pytest

from rxagent import App, ResumabilityConfig, Runner
from rxagent.testing import crash_everywhere

from .random_agents import random_agent

RESUMABLE = ResumabilityConfig(resumable=True)


@pytest.mark.promise("J32")
@pytest.mark.promise("J34")
@pytest.mark.promise("A13", "resume")
@pytest.mark.parametrize("seed", [18, 29, 36, 48, *range(10)])
def test_killed_anywhere(seed: int) -> None:
    """Whatever the agent, killed at each append: a message works, and a resume ends with the log of the uncut run."""
    report = crash_everywhere(
        lambda service: Runner(
            app=App("app", random_agent(seed, answers=False), resumability_config=RESUMABLE), session_service=service
        ),
        "Hi",
    )
    assert report.resumed
