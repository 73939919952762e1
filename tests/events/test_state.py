"""State: stored values below, what is not stored yet above."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rxagent.events import REMOVED, State


def test_writes_go_to_the_delta_alone() -> None:
    """The stored state does not change; reads see the delta first."""
    stored = {"a": 1, "b": 2}
    state = State(stored)
    assert not state.has_delta()
    state["a"] = 10
    state["c"] = 3
    assert state.delta == {"a": 10, "c": 3}
    assert state.has_delta()
    assert dict(state) == {"a": 10, "b": 2, "c": 3}
    assert stored == {"a": 1, "b": 2}


def test_a_given_delta_is_shared() -> None:
    """The delta of an event's actions can be the state's own: what is written stands there at once."""
    delta: dict[str, Any] = {}
    State({}, delta)["k"] = 1
    assert delta == {"k": 1}


def test_removal() -> None:
    """A stored key that is removed stands in the delta as REMOVED, one that was never stored does not stand there."""
    state = State({"a": 1})
    state["b"] = 2
    del state["a"]
    del state["b"]
    assert state.delta == {"a": REMOVED}
    assert "a" not in state
    assert list(state) == []
    with pytest.raises(KeyError):
        del state["a"]
    with pytest.raises(KeyError):
        state["a"]
    state["a"] = 5
    assert dict(state) == {"a": 5}


def test_none_is_a_value() -> None:
    """None is stored like any other value."""
    state = State({"a": 1})
    state["a"] = None
    assert "a" in state
    assert state["a"] is None
    assert state.get("a", "other") is None


def test_stored_values_come_later() -> None:
    """What is stored meanwhile is seen, as far as the delta does not cover it."""
    stored = {"a": 1}
    state = State(stored)
    state["b"] = 2
    stored["a"] = 9
    stored["b"] = 9
    assert dict(state) == {"a": 9, "b": 2}


def test_iterating_while_it_grows() -> None:
    """Writing while somebody iterates is allowed."""
    stored: dict[str, Any] = {"a": 1}
    state = State(stored)
    seen = []
    for key in state:
        seen.append(key)
        stored["later"] = 1
        state["too"] = 1
    assert seen == ["a"]


class AsADict(RuleBasedStateMachine):
    """A State behaves as a dict, and its delta turns the stored state into what it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: dict[str, Any] = {"a": 0, "b": None}
        self.state = State(self.stored)
        self.model = dict(self.stored)

    keys = st.sampled_from("abcd")

    @rule(key=keys, value=st.none() | st.integers(0, 3))
    def write(self, key: str, value: int | None) -> None:
        self.state[key] = self.model[key] = value

    @rule(key=keys)
    def remove(self, key: str) -> None:
        assert self.state.pop(key, "none") == self.model.pop(key, "none")

    @rule()
    def clear(self) -> None:
        self.state.clear()
        self.model.clear()

    @rule()
    def store(self) -> None:
        """What an append does."""
        for key, value in self.state.delta.items():
            if value == REMOVED:
                self.stored.pop(key, None)
            else:
                self.stored[key] = value
        self.state.delta.clear()

    @invariant()
    def same(self) -> None:
        assert dict(self.state) == self.model
        assert len(self.state) == len(self.model)
        assert self.state == self.model
        assert self.state.to_dict() == self.model
        applied = {**self.stored, **self.state.delta}
        assert {key: value for key, value in applied.items() if value != REMOVED} == self.model


TestAsADict = AsADict.TestCase
TestAsADict.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
