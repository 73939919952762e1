"""When a run has said its last, and when it only seems so. A6."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from reactivex import Observable

from rxagent import AbortSignal, LoopAgent, ParallelAgent, Runner, SequentialAgent
from rxagent.agents import BaseAgent
from rxagent.events import Content, Event
from rxagent.history.sealing import ABORTED
from rxagent.invocation import Outcome
from rxagent.models import BaseLlm, LlmRequest, LlmResponse
from rxagent.sessions import InMemorySessionService
from rxagent.streams import Blocking, CancelScope
from rxagent.testing import ScriptedModel, call
from tests.runner.driving import APP, USER, Consumer, Ends, log, said

from .pausing import llm


def stopped_at(
    agent: BaseAgent, text: str, service: InMemorySessionService | None = None
) -> tuple[Outcome, list[Event]]:
    """How a run ends that is asked to stop inside of `on_next` of the event with this text, and the log."""
    signal, ends = AbortSignal(), Ends()
    runner = Runner(agent, app_name=APP, plugins=[ends], session_service=service or InMemorySessionService())

    def on_next(event: Event) -> None:
        if event.text == text:
            signal.set()

    Consumer(on_next).of(runner.run_async(USER, "s", "Hi", abort_signal=signal)).wait()
    return ends.next(), log(runner)


def asked(agent: BaseAgent) -> int:
    """How often the models of the tree were asked."""
    model = getattr(agent, "model", None)
    own = len(model.requests) if isinstance(model, ScriptedModel) else 0
    return own + sum(map(asked, agent.sub_agents))


def handing_over(to: BaseAgent) -> BaseAgent:
    return llm("root", [call("transfer_to_agent", agent_name=to.name)], ["Never."], sub_agents=[to])


WORKFLOWS: dict[str, Callable[[list[BaseAgent]], BaseAgent]] = {
    "sequential": lambda members: SequentialAgent(name="flow", sub_agents=members),
    "loop": lambda members: LoopAgent(name="flow", sub_agents=members, max_iterations=2),
    "parallel": lambda members: ParallelAgent(
        name="flow", sub_agents=[SequentialAgent(name="branch", sub_agents=members)]
    ),
}


@pytest.mark.promise("A6")
@pytest.mark.parametrize("handed", [False, True], ids=["alone", "handed over"])
@pytest.mark.parametrize("kind", WORKFLOWS)
def test_a_members_answer_is_not_the_last(kind: str, handed: bool) -> None:
    """A final answer in the middle of a workflow, also one that was handed over to, is not the run's: it is aborted."""
    flow = WORKFLOWS[kind]([llm("a", ["From a."]), llm("b", ["From b."])])
    agent = handing_over(flow) if handed else flow
    outcome, events = stopped_at(agent, "From a.")
    assert (outcome.kind, outcome.reason) == ("aborted", "user_stop")
    assert events[-1].error_code == ABORTED
    assert asked(agent) == 1 + handed


@pytest.mark.promise("A6")
@pytest.mark.parametrize("handed", [False, True], ids=["alone", "handed over"])
def test_the_last_members_answer_is_the_last(handed: bool) -> None:
    """The final answer of a sequence's last member is the run's, also when the sequence was handed over to."""
    flow = WORKFLOWS["sequential"]([llm("a", ["From a."]), llm("b", ["From b."])])
    outcome, events = stopped_at(handing_over(flow) if handed else flow, "From b.")
    assert outcome.kind == "completed"
    assert said(events)[-1] == "b: From b."


@pytest.mark.promise("A6")
@pytest.mark.parametrize("target", ["root", "peer"])
def test_the_answer_of_a_parent_or_a_peer(target: str) -> None:
    """A run that began further down, and was handed to the parent or to a peer, ends with that one's answer."""
    kid = llm("kid", ["I am here."], [call("transfer_to_agent", agent_name=target)])
    peer = llm("peer", ["From the peer."])
    turns: list[Any] = [[call("transfer_to_agent", agent_name="kid")], ["From the root."]]
    root = llm("root", *turns, sub_agents=[kid, peer])
    service = InMemorySessionService()
    list(Runner(root, app_name=APP, session_service=service).run(USER, "s", "Hi"))
    outcome, events = stopped_at(root, f"From the {target}.", service)
    assert outcome.kind == "completed"
    assert said(events)[-1] == f"{target}: From the {target}."


class Talkative(BaseLlm):
    """Says its answer, and has more to say: what it waits for is never there."""

    def __init__(self) -> None:
        super().__init__("talkative")
        self.left: list[bool] = []

    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
        return Blocking(self._said)

    def _said(self, scope: CancelScope) -> Iterator[LlmResponse]:
        yield LlmResponse(content=Content.model("That is all."))
        try:
            scope.sleep(60)
        finally:
            self.left.append(scope.is_cancelled)


@pytest.mark.promise("A6")
@pytest.mark.promise("A10")
def test_a_model_that_goes_on_behind_its_answer() -> None:
    """Its call is ended, it costs nothing more, and the run that had its answer completes with it."""
    model = Talkative()
    outcome, events = stopped_at(llm("a", model), "That is all.")
    assert outcome.kind == "completed"
    assert model.left == [True]
    assert said(events) == ["user: Hi", "a: That is all."]


class Answer(BaseModel):
    """A shape."""

    n: int


@pytest.mark.promise("A6")
def test_an_answer_that_is_asked_for_again() -> None:
    """An answer that does not fit its shape, and for which the model would be asked again, is not the last: aborted."""
    model = ScriptedModel(["No shape."], ['{"n": 1}'])
    outcome, events = stopped_at(llm("a", model, output_schema=Answer, output_repair=1), "No shape.")
    assert (outcome.kind, outcome.reason) == ("aborted", "user_stop")
    assert len(model.requests) == 1
    assert events[-1].error_code == ABORTED
