"""EventActions: what an event does besides saying something. The one value that may be changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ConfigDict, Field

from .value import Value

__all__ = ["EventActions", "EventCompaction", "ToolConfirmation"]


class ToolConfirmation(Value):
    """A question to the user about a tool call, and later the answer."""

    hint: str = ""
    confirmed: bool = False
    payload: Any = None


class EventCompaction(Value):
    """A summary that stands for the events between two times (milliseconds)."""

    start_timestamp: int | None = None
    end_timestamp: int | None = None
    compacted_content: Any = None


class EventActions(Value):
    """State and artifact changes, transfer, escalation, checkpoints.

    Callbacks and tools change the actions of their context in place; an event takes a copy when it is made, and no
    event's actions change after that.
    """

    model_config = ConfigDict(frozen=False)

    skip_summarization: bool | None = None
    state_delta: dict[str, Any] = Field(default_factory=dict)
    artifact_delta: dict[str, int] = Field(default_factory=dict)
    deleted_artifact_ids: list[str] = Field(default_factory=list)
    transfer_to_agent: str | None = None
    escalate: bool | None = None
    requested_auth_configs: dict[str, Any] = Field(default_factory=dict)
    requested_tool_confirmations: dict[str, ToolConfirmation] = Field(default_factory=dict)
    end_of_agent: bool | None = None
    agent_state: dict[str, Any] | None = None
    compaction: EventCompaction | None = None
    rewind_before_invocation_id: str | None = None

    @classmethod
    def merged(cls, actions: Iterable[EventActions]) -> EventActions:
        """One for several, by ADK's rules.

        Single fields: the last one present wins. State deltas: maps are merged key by key, all else is replaced.
        The other maps: later keys replace earlier ones. `end_of_agent`: true when any is.
        """
        fields: dict[str, Any] = {}
        for one in actions:
            for name, value in one:
                if value is None:
                    continue
                have = fields.get(name)
                if name == "state_delta":
                    fields[name] = deep_merged(have or {}, value)
                elif name == "end_of_agent":
                    fields[name] = bool(have or value)
                elif isinstance(value, dict):
                    fields[name] = {**(have or {}), **value}
                elif isinstance(value, list):
                    fields[name] = [*(have or []), *(item for item in value if item not in (have or []))]
                else:
                    fields[name] = value
        return cls(**fields)

    def copied(self) -> EventActions:
        """A copy whose maps are its own."""
        return EventActions.merged((self,))


def deep_merged(target: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """source over target; where both have a map, the maps are merged in the same way."""
    result = dict(target)
    for key, value in source.items():
        have = result.get(key)
        both = isinstance(have, Mapping) and isinstance(value, Mapping)
        result[key] = deep_merged(have, value) if both else value  # type: ignore[arg-type]
    return result
