"""What hooks and models give back, and in which lane of the timeline a tool stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rxagent.models import LlmResponse
from rxagent.streams import Single

from .behaviour import NOTHING
from .recorder import Recorder

__all__ = ["Convert", "respond", "response_of", "same", "tool_lane"]

Convert = Callable[[Any], Any]


def respond(value: Any, convert: Convert) -> Any:
    """What a hook gives back: nothing, the value converted, or a Single of either."""
    if isinstance(value, Single):
        return value.map(lambda inner: respond(inner, convert))
    return None if value is NOTHING else convert(value)


def response_of(declared: Any) -> LlmResponse:
    return LlmResponse.model_validate(declared)


def same(value: Any) -> Any:
    return value


def tool_lane(recorder: Recorder, ctx: Any) -> str:
    """In the mode with worker threads each call has its own lane; else the lane of its agent."""
    agent = recorder.lane_of(ctx.agent_name)
    threads = ctx.invocation_context.run_config.tool_execution_mode == "parallel_subscribe"
    return f"{agent}tool:{ctx.function_call_id}" if threads else agent
