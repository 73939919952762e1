"""What a log says of where the agents of an invocation stand."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.agents import LlmAgent, SequentialAgent
from rxagent.agents.rehydration import rehydrated
from rxagent.errors import AgentTreeChangedError
from rxagent.events import Content, Event, EventActions
from rxagent.invocation import Progress, Standing


def progress(*events: Event) -> Progress:
    members = [LlmAgent(name="a"), SequentialAgent(name="b", sub_agents=[LlmAgent(name="c")])]
    return rehydrated(SequentialAgent(name="flow", sub_agents=members), events)


def of(author: str, text: str | None = None, **actions: Any) -> Event:
    content = None if text is None else Content.model(text)
    return Event(author=author, content=content, actions=EventActions(**actions))


def test_who_is_open_and_who_has_finished() -> None:
    """Who has spoken is open, who has marked an end has finished, and is open again when it speaks again."""
    end = of("a", end_of_agent=True)
    assert progress(of("user", "Go")).begin("a") is None
    assert progress(of("a", "Hi")).begin("a") == Standing(False, {})
    assert progress(of("a", "Hi"), end).begin("a") == Standing(True, {})
    assert progress(of("a", "Hi"), end, of("a", "Again")).begin("a") == Standing(False, {})


def test_a_checkpoint_has_no_content() -> None:
    """An end, or a state, counts where the event says nothing else; beside content it is what somebody has said."""
    assert progress(of("a", "Bye", end_of_agent=True)).begin("a") == Standing(False, {})
    state = {"current_sub_agent": "a"}
    assert progress(of("flow", agent_state=state)).begin("flow") == Standing(False, state)
    assert progress(of("flow", "Hi", agent_state=state)).begin("flow") == Standing(False, {})


def test_a_checkpoint_starts_whom_it_names_over() -> None:
    """The sub-agent that it names, and those below that one, are new again; the others stay."""
    ends = [of(name, end_of_agent=True) for name in "abc"]
    again = progress(*ends, of("flow", agent_state={"current_sub_agent": "b"}))
    assert [again.begin(name) for name in "abc"] == [Standing(True, {}), None, None]
    all_again = progress(*ends, of("flow", agent_state={}))
    assert [all_again.begin(name) for name in "abc"] == [None, None, None]


@pytest.mark.promise("J35")
@pytest.mark.parametrize(
    ("event", "gone"),
    [
        (of("z", "Hi"), "z"),
        (of("flow", agent_state={"current_sub_agent": "z"}), "z"),
        (of("flow", agent_state={"current_sub_agent": "c"}), "c"),
        (of("a", "over", transfer_to_agent="z"), "z"),
    ],
    ids=["an agent", "a sub-agent", "one that is no longer a direct sub-agent", "who takes over"],
)
def test_who_is_to_go_on_must_be_there(event: Event, gone: str) -> None:
    """An agent that is to go on and is not in the tree is an error that names it; one that has finished is missed by
    nobody."""
    with pytest.raises(AgentTreeChangedError) as caught:
        progress(event)
    assert caught.value.agent_name == gone
    assert progress(of("z", "Hi"), of("z", end_of_agent=True)).has_finished("z")
