"""The driver: hand-overs in the middle of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import reactivex as rx

from rxagent.agents import BaseAgent, LlmAgent, SequentialAgent
from rxagent.errors import RunError
from rxagent.events import Content, Event
from rxagent.runner import Runner
from rxagent.sessions import InMemorySessionService
from rxagent.testing import ScriptedModel, call
from tests.promises.pausing import ASK, app_runner, left_at, llm, marks, run
from tests.runner.driving import log

from .speakers import Doing


def handing(name: str, to: str, *, sub_agents: Sequence[BaseAgent]) -> LlmAgent:
    model = ScriptedModel([call("transfer_to_agent", agent_name=to)], repeat_last=True)
    return LlmAgent(name=name, model=model, sub_agents=sub_agents)


def authors(agent: BaseAgent, *messages: str) -> list[str | None]:
    """Who has spoken in the runs of these messages."""
    with Runner(agent) as runner:
        return [event.author for text in messages for event in runner.run("me", "s", text)]


def test_a_hand_over_goes_on_in_the_same_run() -> None:
    """The call, its response, then the other agent's answer; the next message goes straight to that one."""
    kid = LlmAgent(name="kid", model=ScriptedModel("I am here.", "Still here."))
    root = handing("root", "kid", sub_agents=[kid])
    assert authors(root, "one", "two") == ["root", "root", "kid", "kid"]


def test_an_agent_of_another_kind_takes_over() -> None:
    """An agent that is an Observable of its own kind may be the target."""
    other = Doing("other", lambda ctx: rx.just(Event(author="other", content=Content.model("mine"))))
    assert authors(handing("root", "other", sub_agents=[other]), "go") == ["root", "root", "other"]


def test_a_failing_target_fails_the_run() -> None:
    """The error of an agent of another kind is the run's."""
    other = Doing("other", lambda ctx: rx.throw(OSError("disk")))
    with Runner(handing("root", "other", sub_agents=[other])) as runner, pytest.raises(OSError, match="disk"):
        list(runner.run("me", "s", "go"))


def test_a_chain_is_flat() -> None:
    """More hand-overs in a row than a stack of frames would bear need no deep stack."""
    agent = LlmAgent(name="a399", model=ScriptedModel("done"))
    for number in reversed(range(399)):
        agent = handing(f"a{number}", agent.name, sub_agents=[agent])
    with Runner(agent) as runner:
        events = list(runner.run("me", "s", "go"))
    assert (events[-1].author, events[-1].text) == ("a399", "done")


def test_an_unknown_name_names_the_known_ones() -> None:
    """A name that the tree does not have is an error with the names that it has."""
    root = handing("root", "nobody", sub_agents=[LlmAgent(name="kid", model=ScriptedModel("x"))])
    with Runner(root) as runner, pytest.raises(RunError, match=r"nobody.*root, kid"):
        list(runner.run("me", "s", "go"))


@pytest.mark.promise("J27")
@pytest.mark.parametrize("pauses", [False, True])
def test_the_ends_after_a_workflow_has_taken_over(pauses: bool) -> None:
    """In a resumable app an agent that handed over to a workflow has finished when that has, and waits with it."""
    first = [call("ask", question="?")] if pauses else ["X."]
    flow = SequentialAgent(name="flow", sub_agents=[llm("x", first, ["X."], tools=[ASK])])
    boss = llm("boss", [call("transfer_to_agent", agent_name="flow")], sub_agents=[flow])
    runner = app_runner(boss)
    handed = ["boss: call(transfer_to_agent)", "boss: response(transfer_to_agent)", "flow -> x"]
    rest = ["x: X.", "x end", "flow end", "boss end"]
    assert marks(run(runner, "Go")) == [*handed, *(["x: call(ask)"] if pauses else rest)]
    for question in runner.pending("me", "s"):
        assert marks(run(runner, question.answer({}))) == rest


@pytest.mark.promise("J32")
def test_left_behind_the_end_of_a_workflow_that_has_taken_over() -> None:
    """The last word of a workflow's member is that of the agent that handed over: resumed, it writes only its end."""
    service = InMemorySessionService()

    def boss(*turns: Any) -> LlmAgent:
        flow = SequentialAgent(name="flow", sub_agents=[llm("x", *turns[1:])])
        return llm("boss", *turns[:1], sub_agents=[flow])

    handing_over = [call("transfer_to_agent", agent_name="flow")]
    left_at(app_runner(boss(handing_over, ["X."]), service), "flow end")
    runner = app_runner(boss(), service)
    assert marks(run(runner, invocation_id=log(runner)[0].invocation_id)) == ["boss end"]
