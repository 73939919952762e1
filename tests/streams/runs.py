"""What the tests of streams under real runs share: a runner over a script, and what is told of the ends."""

from __future__ import annotations

import weakref
from queue import SimpleQueue
from typing import Any

from rxagent.agents import LlmAgent
from rxagent.invocation import InvocationContext, Outcome, RunConfig
from rxagent.plugins import BasePlugin
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel

from .acting import took

__all__ = ["PARTS", "SSE", "Ends", "runner"]

SSE = RunConfig(streaming_mode="sse")
PARTS = ["a", "b", "c", "d", "e", "f"]


class Ends(BasePlugin):
    """The outcomes, as they come, and the runs, held weakly."""

    def __init__(self) -> None:
        super().__init__("ends")
        self.outcomes: SimpleQueue[Outcome] = SimpleQueue()
        self.runs: list[weakref.ref[Any]] = []

    def on_run_end(self, ctx: InvocationContext, outcome: Outcome) -> None:
        ledger: Any = ctx.invocation.ledger
        self.runs.append(weakref.ref(ledger._on_empty.__self__))  # the run itself
        self.outcomes.put(outcome)

    def kind(self) -> str:
        return str(took(self.outcomes).kind)


def runner(*turns: Any, tools: tuple[Any, ...] = (), ends: Ends | None = None) -> Runner:
    model = ScriptedModel(*turns, repeat_last=True)
    return Runner(LlmAgent(name="agent", model=model, tools=tools), plugins=() if ends is None else (ends,))
