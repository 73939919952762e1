"""Stops that the agent's own code decides on: a before-agent callback that answers, limits, marks of an agent's end."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from rxagent.agents import LlmAgent, SequentialAgent
from rxagent.errors import LlmCallsLimitExceededError
from rxagent.events import Content, EventActions
from rxagent.invocation import CallbackContext, RunConfig
from rxagent.models import LlmRequest, LlmResponse
from rxagent.runner import Runner
from rxagent.streams import Single
from rxagent.testing.scripted_model import ScriptedModel, call
from tests.runner.driving import APP, USER, Consumer, Ends, log, runner_of, said


async def later(answer: Any) -> Any:
    return answer


@pytest.mark.promise("J23")
@pytest.mark.parametrize("how", [lambda answer: answer, later, Single.just], ids=["plain", "coroutine", "single"])
def test_before_agent_answers(how: Callable[[Any], Any]) -> None:
    """A before-agent callback that returns content skips the agent: the content is its reply, no model is called, no
    after-agent callback either; the run completes normally, after-run runs, the session has a clean final event."""
    model, ends, after_agent = ScriptedModel("Working.", "Working."), Ends(), list[str]()

    def stop_if_asked(ctx: CallbackContext) -> Any:
        return how(Content.model("Stopped at your request.") if ctx.state.get("stop_requested") else None)

    def after(ctx: CallbackContext) -> None:
        after_agent.append(ctx.agent_name)

    runner = runner_of(model, plugins=[ends], before_agent_callback=stop_if_asked, after_agent_callback=after)
    assert said(runner.run(USER, "s", "Hi")) == ["agent: Working."]
    assert after_agent == ["agent"]
    ends.next()
    stream = runner.run_async(USER, "s", "Stop", state_delta={"stop_requested": True})
    consumer = Consumer().of(stream).wait()
    assert said(consumer.events) == ["agent: Stopped at your request."]
    assert (consumer.ends, len(model.calls), after_agent) == (["completed"], 1, ["agent"])
    assert said(log(runner))[2:] == ["user: Stop", "agent: Stopped at your request."]
    final = log(runner)[-1]
    assert final.final_response()
    assert (final.error_code, final.partial, final.content) == (None, None, Content.model("Stopped at your request."))
    assert (ends.next().kind, len(ends.after_run)) == ("completed", 2)


@pytest.mark.promise("J23")
def test_before_agent_of_a_member() -> None:
    """Only the agent itself is skipped: the next member of a sequence runs."""
    first = LlmAgent(name="first", model=ScriptedModel("never"), before_agent_callback=lambda ctx: "Not today.")
    second = LlmAgent(name="second", model=ScriptedModel("Here."))
    runner = Runner(SequentialAgent(name="both", sub_agents=[first, second]), app_name=APP)
    assert said(runner.run(USER, "s", "Hi")) == ["first: Not today.", "second: Here."]


# -- the limit of model calls ------------------------------------------------------------------------------------------


def tool() -> str:
    """Work."""
    return "done"


@pytest.mark.promise("J24")
def test_the_default_limit() -> None:
    """By default the 501st model call of a run fails it; the events before it are in the log."""
    model, ends = ScriptedModel(call("tool"), repeat_last=True), Ends()
    runner = runner_of(model, tools=[tool], plugins=[ends])
    assert RunConfig().max_llm_calls == 500
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert isinstance(consumer.error, LlmCallsLimitExceededError)
    assert "500" in str(consumer.error)
    assert len(model.calls) == 500
    assert len(log(runner)) == 1 + 2 * 500
    outcome = ends.next()
    assert (outcome.kind, outcome.usage.llm_calls, ends.after_run) == ("failed", 501, [])


@pytest.mark.promise("J24")
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_limit(limit: int) -> None:
    """`max_llm_calls` model calls are made; for the one too many no before-model callback is asked."""
    asked: list[int] = []

    def before_model(ctx: CallbackContext, request: LlmRequest) -> None:
        asked.append(len(request.contents))

    model = ScriptedModel(call("tool"), repeat_last=True)
    runner = runner_of(model, tools=[tool], before_model_callback=before_model)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", RunConfig(max_llm_calls=limit))).wait()
    assert isinstance(consumer.error, LlmCallsLimitExceededError)
    assert len(model.calls) == len(asked) == limit
    assert said(consumer.events) == ["agent: call(tool)", "agent: response(tool)"] * limit


@pytest.mark.promise("J24")
def test_a_limit_that_is_just_enough() -> None:
    """A run of as many calls as the limit allows completes; the next run counts anew."""
    runner = runner_of(ScriptedModel(call("tool"), "Done.", call("tool"), "Done."), tools=[tool])
    for _ in range(2):
        assert said(runner.run(USER, "s", "Hi", RunConfig(max_llm_calls=2)))[-1] == "agent: Done."


@pytest.mark.promise("J24")
@pytest.mark.parametrize("limit", [0, -1])
def test_no_limit(limit: int) -> None:
    """0 and less mean no limit."""
    turns = [call("tool")] * 510
    runner = runner_of(ScriptedModel(*turns, "Done."), tools=[tool])
    *_, last = runner.run(USER, "s", "Hi", RunConfig(max_llm_calls=limit))
    assert last.text == "Done."


@pytest.mark.promise("J24")
def test_answers_of_before_model_count() -> None:
    """A call that a before-model callback answers counts, so that it cannot make an endless loop."""
    answer = LlmResponse(content=Content(role="model", parts=(call("tool"),)))
    model = ScriptedModel("never")
    runner = runner_of(model, tools=[tool], before_model_callback=lambda ctx, request: answer)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", RunConfig(max_llm_calls=3))).wait()
    assert isinstance(consumer.error, LlmCallsLimitExceededError)
    assert (len(consumer.events), model.calls) == (6, [])


# -- EventActions.end_invocation ---------------------------------------------------------------------------------------


@pytest.mark.promise("J25")
def test_the_alias() -> None:
    """`EventActions.end_invocation` is `end_of_agent` under an old name: setting it warns, in each way to set it."""
    actions = EventActions()
    with pytest.warns(DeprecationWarning, match="write end_of_agent, or set ctx.end_invocation"):
        actions.end_invocation = True
    assert actions.end_of_agent is True
    with pytest.warns(DeprecationWarning, match="end_of_agent"):
        assert EventActions(**OLD).end_of_agent is True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert EventActions(end_of_agent=True).end_invocation is True
    assert "endInvocation" not in EventActions(end_of_agent=True).model_dump(by_alias=True, exclude_none=True)


OLD: dict[str, Any] = {"end_invocation": True}


def ending_tool(tool_context: Any) -> str:
    """Mark the agent as finished."""
    tool_context.actions.end_invocation = True
    return "marked"


@pytest.mark.promise("J25")
def test_it_ends_one_agent() -> None:
    """Set by a tool, it ends that agent's loop and not the run: the next member runs, after-run runs, and the outcome
    is completed for no special reason."""
    ends, model = Ends(), ScriptedModel(call("ending_tool"), "never")
    first = LlmAgent(name="first", model=model, tools=[ending_tool])
    second = LlmAgent(name="second", model=ScriptedModel("Here."))
    agent = SequentialAgent(name="both", sub_agents=[first, second])
    runner = Runner(agent, app_name=APP, plugins=[ends])
    with pytest.warns(DeprecationWarning, match="does not end the run"):
        events = list(runner.run(USER, "s", "Hi"))
    assert said(events) == ["first: call(ending_tool)", "first: response(ending_tool)", "second: Here."]
    assert events[1].actions.end_of_agent is True
    assert len(model.calls) == 1
    outcome = ends.next()
    assert (outcome.kind, outcome.reason, len(ends.after_run)) == ("completed", None, 1)
