"""EventActions: what an event does besides saying something. The one value that may be changed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, ConfigDict, Field

from .content import Content
from .value import Milliseconds, Value, own_copy

__all__ = ["EventActions", "EventCompaction", "ToolConfirmation"]


class ToolConfirmation(Value):
    """A question to the user about a tool call, and later the answer."""

    hint: str = ""
    confirmed: bool = False
    payload: Any = None


class EventCompaction(Value):
    """A summary that stands for the events between two times (milliseconds)."""

    start_timestamp: Milliseconds | None = None
    end_timestamp: Milliseconds | None = None
    compacted_content: Content | None = None


def _warn(value: bool | None) -> None:
    if value is not None:
        warnings.warn(
            "EventActions.end_invocation only marks one agent as finished and does not end the run; write "
            "end_of_agent, or set ctx.end_invocation to end the run",
            DeprecationWarning,
            stacklevel=3,
        )


def _read_elsewhere(_: bool | None) -> None:
    """The value went to `end_of_agent`, which knows this key too; here it only stops being an unknown field."""


class EventActions(Value):
    """State and artifact changes, transfer, escalation, checkpoints.

    Callbacks and tools change the actions of their context in place; an event takes a copy when it is made, and no
    event's actions change after that. Maps and lists that are empty stand in the JSON, as in ADK Java's.

    `end_invocation` is a deprecated name of `end_of_agent`: setting it warns; in JSON it is read and not written.
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
    end_of_agent: bool | None = Field(
        default=None, validation_alias=AliasChoices("endOfAgent", "end_of_agent", "endInvocation", "end_invocation")
    )
    agent_state: dict[str, Any] | None = None
    compaction: EventCompaction | None = None
    rewind_before_invocation_id: str | None = None

    old_key: Annotated[bool | None, AfterValidator(_read_elsewhere)] = Field(
        default=None, validation_alias="endInvocation", exclude=True, repr=False
    )
    old_name: Annotated[bool | None, AfterValidator(_warn)] = Field(
        default=None, validation_alias="end_invocation", exclude=True, repr=False
    )

    @property
    def end_invocation(self) -> bool | None:
        """Deprecated: `end_of_agent`."""
        return self.end_of_agent

    @end_invocation.setter
    def end_invocation(self, value: bool | None) -> None:
        _warn(value)
        self.end_of_agent = value

    @classmethod
    def merged(cls, actions: Iterable[EventActions]) -> EventActions:
        """One for several, by ADK Java's rules (EventActions.Builder.merge).

        Single fields, agent state and unknown fields: the last one present wins. State deltas: where two have a map
        under one key, the maps are merged key by key, on every level; all else is replaced. The other maps: later
        keys replace earlier ones. Deleted artifacts: all, each once. `end_of_agent`: true when any is. The result
        shares no map and no list with its sources.

        Raises ValueError when two maps to be merged have keys of different types.
        """
        fields: dict[str, Any] = {}
        for one in actions:
            for name, value in _present(one):
                have = fields.get(name)
                if have is None:
                    fields[name] = own_copy(value)
                elif name == "state_delta":
                    _merge_deep(have, value)
                elif name == "end_of_agent":
                    fields[name] = have or value
                elif name in _MAPS:
                    have.update(own_copy(value))
                elif name == "deleted_artifact_ids":
                    have.extend(item for item in value if item not in have)
                else:
                    fields[name] = own_copy(value)
        return cls(**fields)

    def copied(self) -> EventActions:
        """A copy whose maps and lists, on every level, are its own."""
        copy = self.model_copy()
        fields = copy.__dict__
        for name in (*_GROWING, "agent_state"):
            value = fields[name]
            if value is not None:
                fields[name] = own_copy(value) if value else value.copy()
        return copy


def _present(actions: EventActions) -> Iterator[tuple[str, Any]]:
    """The fields that say something, unknown ones too."""
    for fields in (actions.__dict__, actions.__pydantic_extra__ or {}):
        for name, value in fields.items():
            if value or (value is not None and name not in _GROWING):
                yield name, value


_GROWING = (
    "state_delta",
    "artifact_delta",
    "deleted_artifact_ids",
    "requested_auth_configs",
    "requested_tool_confirmations",
)
_MAPS = frozenset({"artifact_delta", "requested_auth_configs", "requested_tool_confirmations"})


def _merge_deep(target: dict[Any, Any], source: dict[Any, Any]) -> None:
    """Source over target; where both have a map, the maps are merged in the same way."""
    for key, value in source.items():
        have = target.get(key)
        if isinstance(have, dict) and isinstance(value, dict):
            _same_keys(have, value)
            _merge_deep(have, value)
        else:
            target[key] = own_copy(value)


def _same_keys(one: dict[Any, Any], other: dict[Any, Any]) -> None:
    ours, theirs = ({type(key) for key in keys} for keys in (one, other))
    if ours and theirs and ours != theirs:
        ours_named, theirs_named = (" and ".join(sorted(kind.__name__ for kind in kinds)) for kinds in (ours, theirs))
        raise ValueError(
            f"two state maps to be merged have keys of different types ({ours_named}; {theirs_named}): "
            "write texts as keys, JSON has no others"
        )
