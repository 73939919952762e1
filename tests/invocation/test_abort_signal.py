"""AbortSignal: what its listeners are told."""

from __future__ import annotations

from rxagent.invocation import AbortSignal


def test_only_a_deeper_set_counts() -> None:
    """The first reason stays; listeners hear of each set that cuts deeper than those before, and of no other."""
    told, late = list[tuple[str, str]](), list[tuple[str, str]]()
    signal = AbortSignal()
    assert (signal.is_set(), signal.reason) == (False, None)
    signal.on_set(lambda reason, after: told.append((reason, after)))
    signal.set("first", "turn")
    signal.set("second", "turn")
    signal.set("third", "now")
    signal.set("fourth", "tool")
    assert told == [("first", "turn"), ("first", "now")]
    signal.on_set(lambda reason, after: late.append((reason, after)))
    assert late == [("first", "now")]
    assert (signal.is_set(), signal.reason) == (True, "first")


def test_a_listener_is_taken_back() -> None:
    """One that was taken back hears nothing, twice is once, and the others still hear."""
    told: list[str] = []
    signal = AbortSignal()
    take_back = signal.on_set(lambda reason, after: told.append("gone"))
    signal.on_set(lambda reason, after: told.append("there"))
    take_back()
    take_back()
    signal.set()
    assert (told, signal.reason) == (["there"], "user_stop")


def test_a_listener_that_fails() -> None:
    """It keeps nobody else from hearing, and `set` does not raise."""
    told: list[str] = []
    signal = AbortSignal()
    signal.on_set(lambda reason, after: 1 // 0)
    signal.on_set(lambda reason, after: told.append(reason))
    signal.set("why")
    assert told == ["why"]
