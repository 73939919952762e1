"""Which agents have finished, and where the others stand."""

from __future__ import annotations

from rxagent.events import Content, Event, EventActions
from rxagent.invocation import Progress, Standing, is_checkpoint


def test_a_standing_is_taken_once() -> None:
    """An agent takes how it was left at its first beginning; later ones are new work."""
    progress = Progress({"a": Standing(False, {"n": 1}), "b": Standing(True, {})})
    assert progress.begin("a") == Standing(False, {"n": 1})
    assert progress.begin("a") is None
    assert progress.begin("b") == Standing(True, {})
    assert (progress.is_at_work("a"), progress.is_at_work("b")) == (True, False)


def test_at_work_until_it_finishes() -> None:
    """One that has begun is waited for until it finishes; it may be held, or released."""
    progress = Progress()
    progress.begin("a")
    progress.finish("a")
    assert not progress.is_at_work("a")
    progress.hold("a")
    assert progress.is_at_work("a")
    progress.release(["a"])
    assert not progress.is_at_work("a")


def test_forgotten() -> None:
    """What starts over has no standing."""
    progress = Progress({"a": Standing(True, {})})
    assert progress.has_finished("a")
    progress.forget(["a", "b"])
    assert not progress.has_finished("a")
    assert progress.begin("a") is None


def test_checkpoints() -> None:
    """Events that only tell where an agent stands: without content, with a state, also an empty one, or an end."""
    assert is_checkpoint(Event(author="a", actions=EventActions(agent_state={})))
    assert is_checkpoint(Event(author="a", actions=EventActions(end_of_agent=True)))
    assert not is_checkpoint(Event(author="a", actions=EventActions(state_delta={"n": 1})))
    assert not is_checkpoint(Event(author="a", content=Content.model("x"), actions=EventActions(end_of_agent=True)))
