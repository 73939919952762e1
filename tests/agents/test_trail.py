"""Who had taken over from whom when a run ended."""

from __future__ import annotations

from typing import Any

from rxagent.agents.trail import Trail
from rxagent.events import Content, Event, EventActions, FunctionResponse, Part


def said(author: str, text: str = "Hi", **more: Any) -> Event:
    return Event(author=author, content=Content.model(text), **more)


def hands_over(author: str, to: str, **more: Any) -> Event:
    return said(author, "over", actions=EventActions(transfer_to_agent=to), **more)


def end(author: str, **more: Any) -> Event:
    return Event(author=author, actions=EventActions(end_of_agent=True), **more)


def answered() -> Event:
    part = Part(function_response=FunctionResponse(id="c", name="ask", response={}))
    return Event(author="user", content=Content(role="user", parts=(part,)))


def trail(*events: Event, branch: str | None = None) -> tuple[list[str], list[str | None]]:
    found = Trail("root", events, branch)
    return found.agents, [None if last is None else last.author for last in found.lasts]


def test_nothing_yet() -> None:
    """An agent that has said nothing is alone, with nothing to go by; a user's text does not count."""
    assert trail() == (["root"], [None])
    assert trail(Event(author="user", content=Content.user("Go"))) == (["root"], [None])


def test_a_chain() -> None:
    """Each hand-over adds an agent; what a workflow's members say counts for the workflow that took over."""
    assert trail(hands_over("root", "kid"), hands_over("kid", "flow"), said("member")) == (
        ["root", "kid", "flow"],
        ["root", "kid", "member"],
    )
    assert trail(hands_over("root", "flow"), said("member")) == (["root", "flow"], ["root", "member"])


def test_ends() -> None:
    """An end marker gives the word back, with the last event; that of the first agent begins anew."""
    chain = (hands_over("root", "kid"), said("kid"), end("kid"))
    assert trail(*chain) == (["root"], ["kid"])
    assert trail(*chain, end("root"), said("root")) == (["root"], ["root"])
    assert trail(hands_over("root", "kid"), end("kid")) == (["root"], ["root"])  # it had nothing to say


def test_back_and_forth() -> None:
    """An agent may stand in its own chain: the marker ends the inner one."""
    chain = (hands_over("root", "kid"), hands_over("kid", "root"), said("root"))
    assert trail(*chain)[0] == ["root", "kid", "root"]
    assert trail(*chain, end("root"))[0] == ["root", "kid"]


def test_answers_and_aborts() -> None:
    """An answer is what the agent at work goes by; what an abort writes is nothing to go by."""
    assert trail(said("root"), answered()) == (["root"], ["user"])
    assert trail(said("root"), said("root", "half", error_code="INVOCATION_ABORTED")) == (["root"], ["root"])
    assert Trail("root", [said("root", "a"), Event(author="root", error_code="X")], None).lasts[0] is not None


def test_branches() -> None:
    """Only the agent's own branch and those below it count."""
    events = (said("root", branch="both.root"), hands_over("root", "kid", branch="both.x"))
    assert trail(*events, branch="both.root") == (["root"], ["root"])
    below = (hands_over("root", "kid", branch="both.root"), said("kid", branch="both.root.kid"))
    assert trail(*below, branch="both.root")[0] == ["root", "kid"]
