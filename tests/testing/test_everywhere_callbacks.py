"""Runs with callbacks and plugins on can be left at every instant."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.events import Content
from rxagent.invocation import RunConfig
from rxagent.models import LlmResponse
from rxagent.plugins import BasePlugin
from rxagent.plugins.hooks import HOOKS
from rxagent.runner import Runner
from rxagent.streams import Single, SingleEmitter
from rxagent.testing import ScriptedModel, call, cancel_everywhere

from .scenarios import BOTH, coroutine, plain, single

MODES = ["none", "sequential", "parallel", "parallel_subscribe"]
AGENT_HOOKS = [name for name in HOOKS if not name.startswith("on_") and "_run" not in name]
ERROR_HOOKS = ["on_model_error_callback", "on_tool_error_callback"]


def plainly(do: Callable[..., Any]) -> Callable[..., Any]:
    return do


def in_a_coroutine(do: Callable[..., Any]) -> Callable[..., Any]:
    async def hook(*args: Any) -> Any:
        await asyncio.sleep(0)
        return do(*args)

    return hook


def in_a_single(do: Callable[..., Any]) -> Callable[..., Any]:
    """Answers from a thread of its own, and is stopped by a cancel action."""

    def hook(*args: Any) -> Single[Any]:
        def start(emitter: SingleEmitter[Any]) -> None:
            stopped = threading.Event()
            emitter.set_cancellable(stopped.set)

            def work() -> None:
                if not stopped.is_set():
                    emitter.on_success(do(*args))

            threading.Thread(target=work, daemon=True).start()

        return Single.create(start)

    return hook


FORMS = [plainly, in_a_coroutine, in_a_single]


def writes(name: str) -> Callable[..., None]:
    """A hook that leaves a trace in the state."""

    def hook(*args: Any) -> None:
        context = next(arg for arg in args if hasattr(arg, "state"))
        context.state[name] = True

    return hook


def plugin_of(form: Callable[..., Any]) -> BasePlugin:
    """A plugin with every hook."""
    plugin = BasePlugin("everything")
    for name in HOOKS:
        setattr(plugin, name, form(writes(f"plugin {name}") if name != "on_run_end" else lambda *args: None))
    return plugin


def runner_of(form: Callable[..., Any], tools: list[Any], model: ScriptedModel, **answers: Any) -> Runner:
    """A runner whose agent has two callbacks on each hook, and a plugin with all hooks."""
    hooks = [*AGENT_HOOKS, *ERROR_HOOKS]
    callbacks = {name: [form(writes(name)), form(answers.get(name, lambda *args: None))] for name in hooks}
    agent: LlmAgent = LlmAgent(name="a", model=model, tools=tools, **callbacks)  # type: ignore[arg-type]
    return Runner(agent, plugins=[plugin_of(form)])


@pytest.mark.promise("J6", "llm")
@pytest.mark.promise("J12")
@pytest.mark.promise("J13", "after_run")
@pytest.mark.promise("A13", "plain_message")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_with_all_hooks(form: Callable[..., Any], mode: Any) -> None:
    """A run of three kinds of tools with all callbacks and hooks on, which all write state, can be left anywhere."""
    tools = [plain, coroutine, single]
    model = ScriptedModel(["look ", *(call(tool.__name__, step=1, part="a") for tool in tools)], ["all ", "done"])
    report = cancel_everywhere(
        lambda: runner_of(form, tools, model.fresh()),
        "Go",
        how=BOTH,
        run_config=RunConfig(streaming_mode="sse", tool_execution_mode=mode),
    )
    assert {"agent a 1 begins", "agent a 1 ends", "tool single 1 over", "after-run 1"} <= set(report.points)


def broken() -> Single[str]:
    """Fail."""
    return Single.error(ValueError("broken"))


ANSWERS: dict[str, Callable[..., Any]] = {
    "after_model_callback": lambda ctx, response: None if response.content is None else response,
    "before_tool_callback": lambda tool, args, ctx: {"by": "hook"} if tool.name == "plain" else None,
    "after_tool_callback": lambda tool, args, ctx, result: {"was": result},
    "on_tool_error_callback": lambda tool, args, ctx, error: {"instead": str(error)},
    "on_model_error_callback": lambda ctx, request, error: LlmResponse(content=Content.model("Sorry.")),
    "after_agent_callback": lambda ctx: Content.model("And more."),
}


@pytest.mark.promise("J6", "llm")
@pytest.mark.promise("J12")
@pytest.mark.promise("A13", "plain_message")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_with_answers(form: Callable[..., Any], mode: Any) -> None:
    """A run in which callbacks answer, a tool and the model fail and are rescued, can be left anywhere."""
    calls = [call("plain", step=1, part="a"), call("broken"), call("coroutine", step=1, part="b")]
    model = ScriptedModel(["look ", *calls], ["half ", ValueError("the model is down")])
    report = cancel_everywhere(
        lambda: runner_of(form, [plain, broken, coroutine], model.fresh(), **ANSWERS),
        "Go",
        how=BOTH,
        run_config=RunConfig(streaming_mode="sse", tool_execution_mode=mode),
    )
    assert "tool plain 1 started" not in report.points
    assert {"tool broken 1 failed", "tool broken 1 over", "after-run 1"} <= set(report.points)
