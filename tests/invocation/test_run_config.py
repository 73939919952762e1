"""RunConfig: what is refused, and what holds when nothing is said."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from rxagent.errors import ConfigError, DuplicateToolError
from rxagent.invocation import RunConfig


def test_defaults() -> None:
    """Final events only, 500 model calls at most, five seconds of grace."""
    config = RunConfig()
    assert (config.streaming_mode, config.max_llm_calls, config.cancel_grace_period) == ("none", 500, 5.0)
    assert config.auto_create_session is None
    assert not config.save_input_blobs_as_artifacts


@pytest.mark.parametrize(
    "wrong",
    [
        {"streaming": "sse"},
        {"streaming_mode": "SSE"},
        {"tool_execution_mode": "threads"},
        {"cancel_grace_period": -1},
        {"max_llm_calls": "many"},
    ],
    ids=str,
)
def test_typing_slips_are_errors(wrong: dict[str, Any]) -> None:
    """An unknown key and a value that means nothing are errors where the config is made, not silence in the run."""
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        RunConfig(**wrong)


def step() -> None:
    """One step."""


def test_tools_are_looked_at_when_they_are_given() -> None:
    """A function is a tool; what is none, and a name that is there twice, are errors."""
    config = RunConfig(tools=(step,))
    assert [getattr(tool, "name", None) for tool in config.tools] == ["step"]
    with pytest.raises(ConfigError):
        RunConfig(tools=(7,))  # type: ignore[arg-type]
    with pytest.raises(DuplicateToolError, match="'step'"):
        RunConfig(tools=(step, step))
