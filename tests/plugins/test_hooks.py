"""The table of hooks, and how one is looked at."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.errors import ConfigError, UsageError
from rxagent.plugins import BasePlugin, check_hook, wrong_answer
from rxagent.plugins.hooks import HOOKS


def test_the_hooks() -> None:
    """Each hook is called with these, by position."""
    assert HOOKS == {
        "on_user_message_callback": ("ctx", "message"),
        "before_run_callback": ("ctx",),
        "on_event_callback": ("ctx", "event"),
        "after_run_callback": ("ctx",),
        "on_run_error_callback": ("ctx", "error"),
        "on_run_end": ("ctx", "outcome"),
        "before_agent_callback": ("ctx",),
        "after_agent_callback": ("ctx",),
        "before_model_callback": ("ctx", "llm_request"),
        "after_model_callback": ("ctx", "llm_response"),
        "on_model_error_callback": ("ctx", "llm_request", "error"),
        "before_tool_callback": ("tool", "args", "ctx"),
        "after_tool_callback": ("tool", "args", "ctx", "result"),
        "on_tool_error_callback": ("tool", "args", "ctx", "error"),
    }


@pytest.mark.parametrize("name", HOOKS)
def test_the_base_fits(name: str) -> None:
    """The hooks of BasePlugin itself fit, do nothing and answer nothing."""
    hook = getattr(BasePlugin("plugin"), name)
    check_hook(name, hook)
    assert hook(*HOOKS[name]) is None


def test_what_is_taken_is_said() -> None:
    """The error says what the hook is called with, and what it takes instead."""

    def callback(tool: Any, args: Any, *, tool_context: Any) -> None: ...

    with pytest.raises(ConfigError) as caught:
        check_hook("before_tool_callback", callback)
    called, _, taken = str(caught.value).partition("; ")
    assert called == "before_tool_callback is called by position, with (tool, args, ctx)"
    assert taken == "callback takes (tool, args, *, tool_context)"


def test_a_wrong_answer_is_said() -> None:
    """The error names the hook, what came, and what may come."""
    error = wrong_answer("before_model_callback", "Hi", "an LlmResponse")
    assert isinstance(error, UsageError)
    assert str(error) == "before_model_callback has answered with str; return an LlmResponse, or nothing"
