"""The instants of a run, as they are counted and named."""

from __future__ import annotations

import threading

import pytest

from rxagent.agents import LlmAgent
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel, call, cancel_everywhere
from rxagent.testing.probe import Probe

from .scenarios import plain


def test_instants_are_numbered_and_late_ones_noted() -> None:
    """Each instant has a name of its own; what begins after the stop is late, what ends is not."""
    probe = Probe("append 2 begun")
    stopped: list[bool] = []
    probe.arm(lambda: stopped.append(probe.is_stopped))
    for _ in range(2):
        probe.reach("append", "begun", begins=True)
        probe.reach("append", "stored")
    probe.reach("tool t", "due", begins=True)
    assert probe.points == ["append 1 begun", "append 1 stored", "append 2 begun", "append 2 stored", "tool t 1 due"]
    assert probe.late == ["tool t 1 due"]
    assert stopped == [False]
    assert probe.stopped_on == threading.get_ident()


def test_the_instants_of_a_run_with_one_call() -> None:
    """A run shows its appends, requests, model calls, tools, agents, hooks and deliveries, in their order."""
    model = ScriptedModel([call("plain", step=1, part="a")], ["all ", "done"])
    report = cancel_everywhere(lambda: Runner(LlmAgent(name="a", model=model.fresh(), tools=[plain])), "Go")
    assert [point for point in report.points if not point.startswith("append")] == [
        "subscribe 1 returned",
        "before-run 1",
        "agent a 1 begins",
        "request of a 1 made",
        "model scripted 1 called",
        "event 1 delivered",
        "tool plain 1 due",
        "tool plain 1 started",
        "tool plain 1 done",
        "tool plain 1 over",
        "event 2 delivered",
        "model scripted 1 answered",
        "request of a 2 made",
        "model scripted 2 called",
        "partial 1 delivered",
        "partial 2 delivered",
        "event 3 delivered",
        "model scripted 2 answered",
        "agent a 1 ends",
        "after-run 1",
        "end 1 delivered",
        "run 1 over",
    ]


def test_what_was_watched_is_as_before() -> None:
    """Services and models are changed for the time of the trial only."""
    model = ScriptedModel("Hi", repeat_last=True)
    cancel_everywhere(lambda: Runner(LlmAgent(name="a", model=model)), "Go")
    assert "generate_content" not in vars(model)


def test_a_run_that_cannot_be_stopped_is_an_error() -> None:
    """A subscribe that gives no handle in time is an error, not an endless wait."""
    probe = Probe("x 1")
    probe.WAIT = 0.01
    with pytest.raises(TimeoutError):
        probe.reach("x")
