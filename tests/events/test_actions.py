"""EventActions: merging, copying, the deprecated name."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.events import REMOVED, EventActions, EventCompaction, ToolConfirmation


def merged(*actions: dict[str, Any]) -> EventActions:
    return EventActions.merged(EventActions.model_validate(one) for one in actions)


def test_nothing_merged_is_empty() -> None:
    """No actions, or empty ones, merge to empty ones."""
    assert EventActions.merged([]) == EventActions()
    assert EventActions.merged([EventActions(), EventActions()]) == EventActions()


@pytest.mark.parametrize(
    ("field", "first", "second"),
    [
        ("skip_summarization", True, False),
        ("transfer_to_agent", "a", "b"),
        ("escalate", True, False),
        ("compaction", EventCompaction(end_timestamp=1), EventCompaction(end_timestamp=2)),
        ("agent_state", {"a": 1}, {"b": 2}),
        ("agent_state", {"a": 1}, {}),
        ("rewind_before_invocation_id", "a", "b"),
        ("unknown_field", {"a": 1}, {"b": 2}),
    ],
)
def test_the_last_one_present_wins(field: str, first: object, second: object) -> None:
    """Single fields: the last one present wins, also a false one; an absent one changes nothing."""
    assert getattr(merged({field: first}, {field: second}), field) == second
    assert getattr(merged({field: first}, {}), field) == first


@pytest.mark.parametrize(
    ("values", "result"),
    [((None, None), None), ((None, False), False), ((True, False), True), ((False, True), True), ((True, None), True)],
)
def test_end_of_agent_is_true_when_any_is(values: tuple[bool | None, ...], result: bool | None) -> None:
    """end_of_agent is or-ed."""
    assert EventActions.merged(EventActions(end_of_agent=value) for value in values).end_of_agent is result


def test_state_deltas_are_merged_deeply() -> None:
    """Maps are merged on every level, all else is replaced by the later one (ADK Java, b17)."""
    result = merged(
        {"state_delta": {"x": 1, "m": {"k1": 1, "deep": {"a": 1}}, "l": [1], "gone": {"a": 1}, "none": {"a": 1}}},
        {"state_delta": {"x": 2, "m": {"k2": 2, "deep": {"b": 2}}, "l": [2], "gone": REMOVED, "none": None}},
    )
    assert result.state_delta == {
        "x": 2,
        "m": {"k1": 1, "deep": {"a": 1, "b": 2}, "k2": 2},
        "l": [2],
        "gone": REMOVED,
        "none": None,
    }


def test_maps_with_keys_of_different_types_are_refused() -> None:
    """Two maps with different kinds of keys cannot be merged; an empty one can."""
    with pytest.raises(ValueError, match=r"keys of different types \(str; int\)"):
        merged({"state_delta": {"m": {"a": 1}}}, {"state_delta": {"m": {1: 1}}})
    assert merged({"state_delta": {"m": {}}}, {"state_delta": {"m": {1: 1}}}).state_delta == {"m": {1: 1}}


def test_other_maps_and_lists_are_joined() -> None:
    """Artifacts, auth requests and confirmations: later keys replace earlier ones; deleted artifacts stand once."""
    result = merged(
        {
            "artifact_delta": {"a": 1, "b": 1},
            "deleted_artifact_ids": ["x", "y"],
            "requested_auth_configs": {"c": {"k": 1}},
            "requested_tool_confirmations": {"c": ToolConfirmation(hint="1"), "d": ToolConfirmation(hint="2")},
        },
        {
            "artifact_delta": {"b": 2},
            "deleted_artifact_ids": ["y", "z"],
            "requested_auth_configs": {"c": {"l": 2}},
            "requested_tool_confirmations": {"d": ToolConfirmation(hint="3")},
        },
    )
    assert result.artifact_delta == {"a": 1, "b": 2}
    assert result.deleted_artifact_ids == ["x", "y", "z"]
    assert result.requested_auth_configs == {"c": {"l": 2}}
    assert {key: asked.hint for key, asked in result.requested_tool_confirmations.items()} == {"c": "1", "d": "3"}


KEYS = st.sampled_from("abc")
NESTED = st.recursive(
    st.none() | st.integers(0, 3), lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
DELTAS = st.dictionaries(KEYS, NESTED, max_size=3)


@given(DELTAS, DELTAS, DELTAS)
def test_merging_goes_from_left_to_right(one: dict[str, Any], two: dict[str, Any], three: dict[str, Any]) -> None:
    """A batch may be merged as it comes in: what is merged already, then the next."""
    actions = [EventActions(state_delta=delta) for delta in (one, two, three)]
    assert EventActions.merged([EventActions.merged(actions[:2]), actions[2]]) == EventActions.merged(actions)


@pytest.mark.parametrize(
    "copy", [EventActions.copied, lambda one: EventActions.merged([one])], ids=["copied", "merged"]
)
def test_a_copy_is_its_own(copy: Any) -> None:
    """A change in a copy, however deep, does not reach the original, nor the other way round."""
    original = EventActions.model_validate(
        {"state_delta": {"a": {"b": [1]}}, "deleted_artifact_ids": ["x"], "agent_state": {"s": {"t": 1}}, "other": 1}
    )
    again = copy(original)
    assert again == original
    again.state_delta["a"]["b"].append(2)
    again.state_delta["new"] = 1
    again.deleted_artifact_ids.append("y")
    again.agent_state["s"]["t"] = 2
    again.escalate = True
    assert original == EventActions.model_validate(
        {"state_delta": {"a": {"b": [1]}}, "deleted_artifact_ids": ["x"], "agent_state": {"s": {"t": 1}}, "other": 1}
    )


@pytest.mark.promise("J25")
def test_end_invocation_is_an_old_name() -> None:
    """Setting end_invocation warns and sets end_of_agent; reading it reads that."""
    actions = EventActions()
    with pytest.warns(DeprecationWarning, match="does not end the run"):
        actions.end_invocation = True
    assert actions.end_of_agent is True
    assert actions.end_invocation is True
    assert actions == EventActions(end_of_agent=True)


def test_end_invocation_given_by_name_warns() -> None:
    """The old name works as an argument, with the warning."""
    with pytest.warns(DeprecationWarning, match="does not end the run"):
        actions = EventActions.model_validate({"end_invocation": True})
    assert actions == EventActions(end_of_agent=True)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('{"endInvocation":true}', True),
        ('{"endOfAgent":true,"endInvocation":true}', True),
        ('{"endOfAgent":false,"endInvocation":false}', False),
        ("{}", None),
    ],
)
def test_end_invocation_in_json(text: str, result: bool | None) -> None:
    """ADK Java writes both names: both are read, without a warning, and only endOfAgent is written."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        actions = EventActions.model_validate_json(text)
        assert actions == EventActions(end_of_agent=result)
        assert "endInvocation" not in actions.model_dump_json(by_alias=True)
        assert actions.model_dump().get("end_of_agent") is result
        assert {"old_key", "old_name"}.isdisjoint(actions.model_dump(exclude_none=False))
    assert not actions.model_extra
