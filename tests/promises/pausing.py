"""Resumable apps for tests: agents over scripts, tools that pause, and what their logs say."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from rxagent import App, ResumabilityConfig, Runner
from rxagent.agents import BaseAgent, LlmAgent
from rxagent.events import Content, Event, FunctionResponse, Part
from rxagent.models import BaseLlm
from rxagent.sessions import BaseSessionService, InMemorySessionService
from rxagent.testing.scripted_model import ScriptedModel
from rxagent.tools import FunctionTool, LongRunningFunctionTool, ToolLike
from tests.runner.driving import APP, USER, Consumer, log, words_of

__all__ = ["ASK", "Refunds", "answer", "app_runner", "left_at", "llm", "marks", "run", "stored"]


def ask(question: str) -> None:
    """Ask a human."""


ASK = LongRunningFunctionTool(ask)
"""A long-running tool that has nothing to say yet."""


class Refunds:
    """A tool that asks before it runs, and keeps the calls that it has done."""

    def __init__(self) -> None:
        self.done: list[tuple[str, Any]] = []

    def tool(self, require: Any = True) -> FunctionTool:
        def refund(order: int, tool_context: Any) -> dict[str, Any]:
            """Give the money back."""
            self.done.append((tool_context.function_call_id, order))
            return {"refunded": order}

        return FunctionTool(refund, require_confirmation=require)


def llm(name: str, *turns: Any, tools: Iterable[ToolLike] = (), **more: Any) -> LlmAgent:
    """An agent over a script (or over a model that is given)."""
    model: Any = turns[0] if turns and isinstance(turns[0], BaseLlm) else ScriptedModel(*turns)
    return LlmAgent(name=name, model=model, tools=tools, **more)


def app_runner(
    agent: BaseAgent,
    service: BaseSessionService | None = None,
    *,
    resumable: bool = True,
    plugins: Iterable[Any] = (),
) -> Runner:
    """A runner of a resumable app."""
    config = ResumabilityConfig(resumable=resumable)
    app = App(APP, root_agent=agent, plugins=plugins, resumability_config=config)
    return Runner(app=app, session_service=service or InMemorySessionService())


def run(runner: Runner, message: Any = None, **options: Any) -> list[Event]:
    """The events of one run of session s."""
    return list(runner.run(USER, "s", message, **options))


def left_at(runner: Any, mark: str, message: Any = "Go", **options: Any) -> None:
    """Run, and leave at the event with this mark."""

    def on_next(event: Event) -> None:
        if marks([event]) == [mark]:
            consumer.dispose()
            left.set()

    left = threading.Event()
    consumer = Consumer(on_next)
    consumer.of(runner.run_async(USER, "s", message, **options))
    assert left.wait(5)
    runner.close()


def answer(id: str, response: Mapping[str, Any], name: str | None = "ask") -> Content:
    """A user's answer to a call."""
    part = Part(function_response=FunctionResponse(id=id, name=name, response=dict(response)))
    return Content(role="user", parts=(part,))


def marks(events: Iterable[Event]) -> list[str]:
    """Events in short words, checkpoints as `flow -> b`, `flow -> b 1`, `flow {}`, ends as `b end`."""
    return [_mark(event) for event in events]


def stored(runner: Runner) -> list[str]:
    """The log of session s, in short words."""
    return marks(log(runner))


def _mark(event: Event) -> str:
    actions = event.actions
    if event.content is None and actions.end_of_agent:
        return f"{event.author} end"
    if event.content is None and actions.agent_state is not None:
        state = actions.agent_state
        words = [str(state[key]) for key in ("current_sub_agent", "times_looped") if key in state]
        return f"{event.author} {'-> ' + ' '.join(words) if words else '{}'}"
    return f"{event.author}: {words_of(event)}"
