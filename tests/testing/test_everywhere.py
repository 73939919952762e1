"""Runs can be left at every instant: shown by leaving them there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.invocation import RunConfig
from rxagent.runner import Runner
from rxagent.sessions import SqliteSessionService
from rxagent.testing import ScriptedModel, call, cancel_everywhere, pause, thought
from rxagent.tools import LongRunningFunctionTool
from tests.history.logs import call as called
from tests.history.logs import calls, user

from .scenarios import BOTH, blocking, coroutine, plain, runner_for, single

TOOLS = [plain, blocking, single, coroutine]
MODES = ["none", "sequential", "parallel", "parallel_subscribe"]


@pytest.mark.promise("J3")
@pytest.mark.promise("J6", "llm")
@pytest.mark.promise("J12")
@pytest.mark.promise("J13", "after_run")
@pytest.mark.promise("J14", "disposed")
@pytest.mark.promise("J17")
def test_streamed_text() -> None:
    """A streamed answer can be left before, at and after each of its partials."""
    model = ScriptedModel([thought("hm"), "It is ", pause(0.001), "21 ", "degrees."])
    report = cancel_everywhere(lambda: Runner(LlmAgent(name="a", model=model.fresh())), "Weather?", how=BOTH)
    assert {"append 1 begun", "model scripted 1 called", "partial 4 delivered", "event 1 delivered"} <= set(
        report.points
    )


@pytest.mark.promise("J6", "llm")
@pytest.mark.promise("J12")
@pytest.mark.promise("J13", "after_run")
@pytest.mark.promise("A13", "plain_message")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.__name__)
def test_three_steps_of_two_calls(tool: Callable[..., Any], mode: Any) -> None:
    """A loop of three steps with two calls each can be left anywhere, whatever the tools are and how they are run."""
    report = cancel_everywhere(
        runner_for(tool), "Go", how=BOTH, run_config=RunConfig(streaming_mode="sse", tool_execution_mode=mode)
    )
    assert f"tool {tool.__name__} 6 over" in report.points


@pytest.mark.promise("J6", "llm")
@pytest.mark.promise("J12")
@pytest.mark.promise("J15")
@pytest.mark.promise("A13", "plain_message")
@pytest.mark.parametrize("tool", [plain, coroutine], ids=lambda tool: tool.__name__)
def test_on_a_file(tool: Callable[..., Any], tmp_path: Path) -> None:
    """The same on a SQLite file, which all the trials share."""
    service = SqliteSessionService(str(tmp_path / "log.db"))
    try:
        cancel_everywhere(runner_for(tool, steps=2, session_service=service), "Go", how=BOTH)
    finally:
        service.close()


@pytest.mark.promise("J12")
def test_without_streaming() -> None:
    """Without partials a run has fewer instants, and can be left at each."""
    report = cancel_everywhere(runner_for(plain, steps=1), "Go", how=BOTH, run_config=RunConfig())
    assert not [point for point in report.points if point.startswith("partial")]


@pytest.mark.promise("J38")
def test_a_designed_pause() -> None:
    """A run that pauses can be left anywhere; a call that pauses is not sealed but told as pending."""

    def ask(question: str) -> None:
        """Ask somebody."""

    model = ScriptedModel([call("ask", question="May I?"), call("plain", step=1, part="a")], "Asked.")
    pausing = LongRunningFunctionTool(ask)
    cancel_everywhere(lambda: Runner(LlmAgent(name="a", model=model.fresh(), tools=[pausing, plain])), "Go", how=BOTH)


@pytest.mark.promise("A13", "plain_message")
def test_on_a_session_that_was_left_before() -> None:
    """A scenario may begin on a log with an open call: its seals stand before the user's event."""
    history = [user("Before"), calls("a", called("c1", "plain"))]
    cancel_everywhere(runner_for(plain, steps=1), "Go", how=BOTH, events=history, state={"app:seen": 1})


@pytest.mark.promise("A2")
@pytest.mark.promise("A6")
def test_with_the_half_answer_kept() -> None:
    """With `keep_partial_on_abort` the text that was shown is stored, and the log is valid at every instant."""
    model = ScriptedModel(["It is ", "21 "], ["and ", call("plain", step=1, part="a")], ["all ", "done"])
    config = RunConfig(streaming_mode="sse", keep_partial_on_abort=True)
    cancel_everywhere(
        lambda: Runner(LlmAgent(name="a", model=model.fresh(), tools=[plain])), "Go", how=BOTH, run_config=config
    )
