"""RunConfig: how one run is to go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator

from rxagent.events import Value
from rxagent.tools import BaseTool, BaseToolset, ToolLike, as_tools

__all__ = ["RunConfig", "StreamingMode", "ToolExecutionMode"]

StreamingMode = Literal["none", "sse"]
ToolExecutionMode = Literal["none", "sequential", "parallel", "parallel_subscribe"]


class RunConfig(Value):
    """How one run is to go. A key that it does not know is an error, so that a typing slip is seen.

    streaming_mode: "none", final events only; "sse", partial events too, and the final event repeats the whole text.
    tool_execution_mode: "sequential", each tool after the one before; "parallel" and "none", all started on the run's
    thread; "parallel_subscribe", each on a worker, so that blocking ones overlap.
    max_llm_calls: model calls of the run; 0 or less: no limit.
    auto_create_session: None takes the runner's.
    save_input_blobs_as_artifacts: bytes in the message are saved as artifacts, and a text stands in their place.
    timeout: seconds from the subscription on, after which the run is aborted with the reason `request_timeout`.
    keep_partial_on_abort: an aborted run stores the text that had been shown and not saved, marked as incomplete.
    cancel_grace_period: seconds that a stopped run's work may hold the stream's end and the session's turn; 0: none.
    tools: more tools for this run, offered to each of its agents that asks a model, behind its own; a name that is
    taken there stays with the agent's tool. instructions: texts that its models are told last, as they are. Neither is
    stored, nor handed on to agents that a tool runs.

    Raises ConfigError for what is no tool, DuplicateToolError for two of one name.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    streaming_mode: StreamingMode = "none"
    tool_execution_mode: ToolExecutionMode = "none"
    max_llm_calls: int = 500
    auto_create_session: bool | None = None
    save_input_blobs_as_artifacts: bool = False
    cancel_grace_period: float = Field(default=5.0, ge=0)
    timeout: float | None = Field(default=None, gt=0)
    keep_partial_on_abort: bool = False
    tools: tuple[ToolLike | BaseToolset, ...] = ()
    instructions: tuple[str, ...] = ()

    @field_validator("tools", mode="before")
    @classmethod
    def _as_tools(cls, given: Iterable[Any]) -> tuple[BaseTool | BaseToolset, ...]:
        return as_tools("a run", given)
