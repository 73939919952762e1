"""The agents that bench_serve.py serves."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from rxagent import LlmAgent
from rxagent.agents import BaseAgent
from rxagent.events import Content, Event
from rxagent.models import ChatCompletions
from rxagent.streams import Blocking
from rxagent.testing import ScriptedModel, call

__all__ = ["blocking", "many", "partials", "remote", "steps"]

EVENTS = 10_000
PARTIALS = 1_000


def block(seconds: float) -> str:
    """Block."""
    time.sleep(seconds)
    return "done"


def step() -> str:
    """One step."""
    return "done"


class Many(BaseAgent):
    """An agent that says 10,000 things, a kilobyte each."""

    def run_async_impl(self, ctx: Any) -> Any:
        def say(_: object) -> Iterator[Event]:
            for number in range(EVENTS):
                content = Content.model(f"{number} " + "x" * 1000)
                yield Event(invocation_id=ctx.invocation_id, author=self.name, content=content)

        return Blocking(say)


remote = LlmAgent(
    name="remote", model=ChatCompletions("any", base_url=os.environ.get("BENCH_MODEL", "http://127.0.0.1:1/v1"))
)
partials = LlmAgent(name="partials", model=ScriptedModel(["word "] * PARTIALS, repeat_last=True))
blocking = LlmAgent(name="blocking", model=ScriptedModel([call("block", seconds=3)], repeat_last=True), tools=[block])
steps = LlmAgent(name="steps", model=ScriptedModel([call("step")], repeat_last=True), tools=[step])
many = Many(name="many")
