"""Scenarios that are stopped everywhere, and their tools."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from rxagent.agents import LlmAgent
from rxagent.runner import Runner
from rxagent.streams import Single, SingleEmitter
from rxagent.testing import ScriptedModel, call
from rxagent.testing.scripted_model import Turn
from rxagent.testing.stops import How

Tool = Callable[..., Any]
BOTH: tuple[How, ...] = ("dispose", "abort")


def plain(step: int, part: str) -> dict[str, Any]:
    """Answer on the spot."""
    return {"step": step, "part": part}


def blocking(step: int, part: str) -> dict[str, Any]:
    """Block the thread for a moment."""
    time.sleep(0.002)  # not a synchronisation: the work of the tool
    return {"step": step, "part": part}


async def coroutine(step: int, part: str) -> dict[str, Any]:
    """Wait on the event loop."""
    await asyncio.sleep(0.002)
    return {"step": step, "part": part}


def single(step: int, part: str) -> Single[dict[str, Any]]:
    """Answer from a thread of its own, and be stopped by a cancel action."""

    def start(emitter: SingleEmitter[dict[str, Any]]) -> None:
        stopped = threading.Event()
        emitter.set_cancellable(stopped.set)

        def work() -> None:
            if not stopped.wait(0.002):
                emitter.on_success({"step": step, "part": part})

        threading.Thread(target=work, daemon=True).start()

    return Single.create(start)


def loop_of(tool: Tool, steps: int = 3) -> ScriptedModel:
    """A model that calls the tool twice in each step, and then says two words."""
    name = tool.__name__
    turns: list[Turn] = [
        [f"step {step}", call(name, step=step, part="a"), call(name, step=step, part="b")] for step in range(steps)
    ]
    return ScriptedModel(*turns, ["all ", "done"])


def runner_for(tool: Tool, steps: int = 3, **options: Any) -> Callable[[], Runner]:
    """Builds a runner whose agent calls this tool, `steps` times two calls."""
    model = loop_of(tool, steps)
    return lambda: Runner(LlmAgent(name="a", model=model.fresh(), tools=[tool]), **options)
