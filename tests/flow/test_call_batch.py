"""What a batch of calls leaves in the log, besides its responses."""

from __future__ import annotations

import threading

import pytest

from rxagent.events import Part
from rxagent.invocation import RunConfig, ToolContext, ToolExecutionMode
from rxagent.sessions import Session
from rxagent.testing.scripted_model import call
from rxagent.tools import LongRunningFunctionTool, ToolLike
from tests.promises.pausing import answer, app_runner, llm, run
from tests.runner.driving import SSE, USER, Consumer, log, said


def file(tool_context: ToolContext) -> None:
    """File a question; the answer comes later."""
    tool_context.state["filed"] = tool_context.function_call_id
    tool_context.save_artifact("question.txt", Part(text="?"))


def plain() -> str:
    """Answer at once."""
    return "ok"


TOOLS: list[ToolLike] = [LongRunningFunctionTool(file), plain]


@pytest.mark.parametrize("resumable", [True, False])
def test_a_tool_without_a_response_loses_nothing_that_it_wrote(resumable: bool) -> None:
    """State and artifacts of a long-running tool without an answer yet are an event of their own; it still waits."""
    runner = app_runner(llm("a", [call("file")], "Done.", tools=TOOLS), resumable=resumable)
    events = run(runner, "Go")
    asked, written = [event for event in events if event.content or event.actions.state_delta]
    [question] = asked.function_calls
    assert question.id is not None
    assert written.content is None
    assert written.actions.state_delta == {"filed": question.id}
    assert written.actions.artifact_delta == {"question.txt": 0}
    session = runner.session_service.get_session("app", "me", "s")
    assert isinstance(session, Session)
    assert session.state["filed"] == question.id
    assert [one.call_id for one in session.pending()] == [question.id]
    assert "a: Done." in said(run(runner, answer(question.id, {"said": "yes"}, "file")))


def test_it_stands_with_the_responses_of_the_others() -> None:
    """Where another call of the batch has a response, that event carries what both have written."""
    runner = app_runner(llm("a", [call("file"), call("plain")], "Done.", tools=TOOLS), resumable=False)
    run(runner, "Go")
    [answered] = [event for event in log(runner) if event.function_responses]
    assert [one.name for one in answered.function_responses] == ["plain"]
    assert list(answered.actions.state_delta) == ["filed"]


def test_a_tool_that_wrote_nothing_adds_no_event() -> None:
    """A long-running tool that neither answers nor writes leaves its call alone."""

    def wait() -> None:
        """Wait."""

    runner = app_runner(llm("a", [call("wait")], tools=[LongRunningFunctionTool(wait)]))
    run(runner, "Go")
    assert said(log(runner))[:2] == ["user: Go", "a: call(wait)"]
    assert not [event for event in log(runner) if event.content is None and event.actions.state_delta]


@pytest.mark.parametrize("mode", ["none", "sequential", "parallel_subscribe"])
def test_progress(mode: ToolExecutionMode) -> None:
    """What a plain function reports is a partial event at once, and stored nowhere; a run without SSE takes none."""
    taken: list[bool] = []

    def work(tool_context: ToolContext) -> str:
        """Work."""
        taken.extend(tool_context.report_progress(text) for text in ("half", "whole"))
        return "done"

    runner = app_runner(llm("a", *[[call("work")], "Done."] * 2, tools=[work]))
    config = RunConfig(tool_execution_mode=mode)
    shown = run(runner, "Go", run_config=config.model_copy(update={"streaming_mode": "sse"}))
    told = [event.custom_metadata["tool_progress"] for event in shown if event.partial and event.custom_metadata]
    [asked] = shown[0].function_calls
    assert told == [{"id": asked.id, "name": "work", "text": text} for text in ("half", "whole")]
    assert [bool(event.function_responses) for event in shown] == [False, False, False, True, False, False, False]
    assert not any(event.partial for event in run(runner, "Go", run_config=config))
    assert taken == [True, True, False, False]
    assert not [event for event in log(runner) if event.custom_metadata]


def test_progress_of_a_coroutine() -> None:
    """What is reported on another thread than the run's is shown on the run's."""

    async def work(tool_context: ToolContext) -> str:
        """Work."""
        threads.append(threading.get_ident())
        assert tool_context.report_progress("half")
        return "done"

    threads: list[int] = []
    runner = app_runner(llm("a", [call("work")], "Done.", tools=[work]))
    consumer = Consumer().of(runner.run_async(USER, "s", "Go", SSE)).wait()
    assert [bool(event.custom_metadata) for event in consumer.events if event.partial][:1] == [True]
    assert len(consumer.threads) == 1
    assert consumer.threads.isdisjoint(threads)
