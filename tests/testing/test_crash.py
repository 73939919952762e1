"""Runs can be killed at every append: shown by killing their processes there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rxagent.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from rxagent.events import Content, Message
from rxagent.invocation import ResumabilityConfig
from rxagent.runner import AgentTool, App, Runner
from rxagent.sessions import Session, SqliteSessionService
from rxagent.testing import ScriptedModel, call, crash_everywhere
from rxagent.testing.scripted_model import Turn
from rxagent.tools import FunctionTool, LongRunningFunctionTool, exit_loop

from .scenarios import plain, single

Make = Callable[[SqliteSessionService], Runner]


def speaking(name: str, *turns: Turn, **more: Any) -> LlmAgent:
    """An agent whose script goes by the history."""
    return LlmAgent(name=name, model=ScriptedModel(*turns, by_history=True), **more)


def app_of(make_agent: Callable[[], BaseAgent]) -> Make:
    """Builds a runner of a resumable app."""
    resumable = ResumabilityConfig(resumable=True)

    def make(service: SqliteSessionService) -> Runner:
        return Runner(app=App("crashed", make_agent(), resumability_config=resumable), session_service=service)

    return make


def steps() -> LlmAgent:
    """Two steps, of two calls and of one."""
    first: Turn = ["look ", call("plain", step=1, part="a"), call("single", step=1, part="b")]
    return speaking("a", first, [call("plain", step=2, part="c")], "all done", tools=[plain, single])


@pytest.mark.promise("J32")
@pytest.mark.promise("J34")
@pytest.mark.promise("A13", "plain_message")
@pytest.mark.promise("A13", "resume")
def test_steps_with_tools() -> None:
    """A tool loop can be killed at each append: a message works at once, and a resume repeats nothing that was done."""
    report = crash_everywhere(app_of(steps), "Go")
    assert "append 5 stored" in report.points
    assert report.resumed == len(report.points) - 1  # before the first append there is no invocation


@pytest.mark.promise("A13", "plain_message")
def test_an_app_that_is_not_resumable() -> None:
    """Without resumability a plain message works at each point; nothing is resumed."""
    assert crash_everywhere(lambda service: Runner(steps(), session_service=service), "Go").resumed == 0


def workflow() -> BaseAgent:
    """A sequence in a loop in a parallel agent, beside a single agent."""
    writer = speaking("writer", [call("plain", step=1, part="w")], "draft 1", "draft 2", tools=[plain])
    critic = speaking("critic", "once more", [call("exit_loop")], tools=[exit_loop])
    pair = SequentialAgent(name="pair", sub_agents=[writer, critic])
    refine = LoopAgent(name="refine", max_iterations=5, sub_agents=[pair])
    web = speaking("web", [call("plain", step=1, part="x")], "found", tools=[plain])
    return ParallelAgent(name="both", sub_agents=[refine, web])


@pytest.mark.promise("J27")
@pytest.mark.promise("J32")
@pytest.mark.promise("A13", "plain_message")
@pytest.mark.promise("A13", "resume")
def test_a_workflow() -> None:
    """A sequence in a loop beside another branch goes on from its checkpoints."""
    assert crash_everywhere(app_of(workflow), "Go").resumed > 20


def chain() -> BaseAgent:
    """Three agents, each handing over to the next; the last one uses a tool and an agent as a tool."""
    helper = AgentTool(speaking("helper", [call("plain", step=9, part="h")], "helped", tools=[plain]))
    last = speaking(
        "last", [call("plain", step=1, part="a"), call("helper", request="help")], "here", tools=[plain, helper]
    )
    middle = speaking("middle", [call("transfer_to_agent", agent_name="last")], "no more", sub_agents=[last])
    return speaking("root", [call("transfer_to_agent", agent_name="middle")], "no more", sub_agents=[middle])


@pytest.mark.promise("J27")
@pytest.mark.promise("J32")
@pytest.mark.promise("A13", "plain_message")
@pytest.mark.promise("A13", "resume")
def test_a_chain_of_transfers() -> None:
    """An invocation that was handed over goes on with the agent that had it, its agent tool included."""
    assert crash_everywhere(app_of(chain), "Go").resumed > 10


def asking() -> BaseAgent:
    """A call that needs a confirmation beside one that needs none, then one whose answer comes from outside."""

    def refund(order: int) -> dict[str, Any]:
        """Refund an order."""
        return {"refunded": order}

    def ask_boss(about: str) -> None:
        """Ask."""

    tools = [plain, FunctionTool(refund, require_confirmation=True), LongRunningFunctionTool(ask_boss)]
    both: Turn = [call("refund", order=7), call("plain", step=1, part="a")]
    return speaking("desk", both, [call("ask_boss", about="7")], "all done", tools=tools)


def approve(session: Session) -> Message:
    question = session.pending()[0]
    return question.approve() if question.kind == "confirmation" else question.answer({"boss": "yes"})


@pytest.mark.promise("J26")
@pytest.mark.promise("J28")
@pytest.mark.promise("J32")
@pytest.mark.promise("J38")
@pytest.mark.promise("A13", "plain_message")
@pytest.mark.promise("A13", "resume")
def test_confirmations_and_answers() -> None:
    """A run that pauses twice can be killed anywhere between its first message and its last answer."""
    assert crash_everywhere(app_of(asking), "Go", answer=approve).resumed > 10


# -- the harness finds what is wrong ---------------------------------------------------------------------------------


def faults(make_runner: Make, **options: Any) -> str:
    """What crash_everywhere has to say; fails when it has nothing."""
    with pytest.raises(AssertionError) as found:
        crash_everywhere(make_runner, "Go", **options)
    return str(found.value)


def one_step() -> LlmAgent:
    return speaking("a", [call("plain", step=1, part="a")], "done", tools=[plain])


def test_a_scenario_that_fails() -> None:
    """A scenario that fails by itself is told at once."""
    text = faults(app_of(lambda: speaking("a", ValueError("the model is down"))))
    assert "the scenario fails:" in text
    assert "the model is down" in text


def test_a_runner_on_another_service() -> None:
    """A runner that does not use the service is told what to write."""
    assert "session_service=service" in faults(lambda service: Runner(one_step()))


def test_a_scenario_that_does_not_end() -> None:
    """A process that does not end in time is killed, and named."""
    stuck = app_of(lambda: speaking("a", lambda scope: scope.sleep(60)))
    assert "has not ended in time" in faults(stuck, timeout=0.5)


def test_a_model_that_starts_over() -> None:
    """A model that does not go by the history repeats its steps, which shows in the log."""
    model = ScriptedModel([call("plain", step=1, part="a")], "done")
    text = faults(app_of(lambda: LlmAgent(name="a", model=model.fresh(), tools=[plain])))
    assert "killed at 'append 3 stored':\n    - the resume: the log ends up as" in text


def test_a_scenario_that_differs_each_time(tmp_path: Any) -> None:
    """An append that does not come again is named."""
    been = tmp_path / "been"

    def turns() -> Iterator[Turn]:
        if not been.exists():
            yield [call("plain", step=1, part="a")]
        been.touch()
        yield "done"

    text = faults(app_of(lambda: speaking("a", *turns(), tools=[plain])))
    assert "did not come to this instant again" in text


def test_calls_that_are_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flow that asks the model anew instead of running the open call is found."""
    monkeypatch.setattr("rxagent.flow.llm_flow.reruns", lambda *_, **__: [])
    text = faults(app_of(one_step))
    assert "was cut, and is not run again under its id" in text


def test_a_log_that_is_not_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that stays open behind the next message is found."""
    monkeypatch.setattr("rxagent.history.digest.SessionDigest.calls_to_seal", lambda *_: [])
    assert "the next message: still open:" in faults(lambda service: Runner(one_step(), session_service=service))


def test_a_next_message_without_an_answer() -> None:
    """A before-run hook or callback that answers in the agent's place leaves no answer of the agent; that is found."""
    silent = LlmAgent(
        name="a", model=ScriptedModel(by_history=True), before_agent_callback=lambda ctx: Content.model("x")
    )
    assert "no agent has answered" in faults(lambda service: Runner(silent, session_service=service))
