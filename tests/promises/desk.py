"""Tools of each kind that note when they start and end, and end when they are told to."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

from rxagent.events import Event
from rxagent.invocation import RunConfig, ToolExecutionMode
from rxagent.models import BaseLlm
from rxagent.runner import Runner
from rxagent.streams import Single, SingleEmitter
from rxagent.testing.scripted_model import call
from rxagent.tools import FunctionTool
from tests.runner.driving import USER, Consumer, Ends, runner_of

__all__ = ["ASYNCHRONOUS", "KINDS", "MODES", "Desk", "answered", "mode"]

ASYNCHRONOUS: Final = ("coroutine", "single")
KINDS: Final = ("plain", *ASYNCHRONOUS)
MODES: Final[tuple[ToolExecutionMode, ...]] = ("none", "sequential", "parallel", "parallel_subscribe")


class Desk:
    """Tools by name. steps: `+a` when it starts, `-a` when it ends, `!a` when it is cancelled.

    on: what to do at a step, on the thread that makes it. ends: what an asynchronous tool waits for. threads: where
    each tool was started.
    """

    def __init__(self, **kinds: str) -> None:
        self.steps: list[str] = []
        self.on: dict[str, Callable[[], object]] = {}
        self.threads: dict[str, int] = {}
        self.started = {name: threading.Event() for name in kinds}
        self.ends: dict[str, Future[None]] = {name: Future() for name in kinds}
        self.tools = [self._tool(name, kind) for name, kind in kinds.items()]
        self.outcomes = Ends()

    def runner(self, model: BaseLlm | None = None, **options: Any) -> Runner:
        """One whose model calls all tools at once, and then says "Done."."""
        plugins = [self.outcomes, *options.pop("plugins", ())]
        script = [[call(tool.name) for tool in self.tools], "Done."]
        return runner_of(model or script, tools=self.tools, plugins=plugins, **options)

    def run(self, config: RunConfig, **options: Any) -> Consumer:
        """A run that is waited for."""
        return Consumer().of(self.runner(**options).run_async(USER, "s", "Hi", config)).wait()

    def end(self, *names: str) -> None:
        """Let these end, in this order."""
        for name in names:
            self.ends[name].set_result(None)

    def end_after(self, *names: str) -> None:
        """Let each of these end when the one before it has ended."""
        for before, name in itertools.pairwise(names):
            self.on[f"-{before}"] = partial(self.end, name)

    def fail(self, name: str, error: Exception) -> None:
        """Let this one fail."""
        self.ends[name].set_exception(error)

    def _step(self, step: str) -> None:
        self.steps.append(step)
        self.on.get(step, lambda: None)()

    def _begin(self, name: str) -> None:
        self.threads[name] = threading.get_ident()
        self._step(f"+{name}")
        self.started[name].set()

    def _tool(self, name: str, kind: str) -> FunctionTool:
        made: Callable[[str], Callable[..., object]] = getattr(self, f"_{kind}")
        return FunctionTool(made(name), name=name, description="Work.")

    def _plain(self, name: str) -> Callable[[], str]:
        def tool() -> str:
            self._begin(name)
            self._step(f"-{name}")
            return name

        return tool

    def _coroutine(self, name: str) -> Callable[[], Any]:
        async def tool() -> str:
            self._begin(name)
            try:
                await asyncio.wrap_future(self.ends[name])
            except asyncio.CancelledError:
                self._step(f"!{name}")
                raise
            self._step(f"-{name}")
            return name

        return tool

    def _single(self, name: str) -> Callable[[], Single[str]]:
        def start(emitter: SingleEmitter[str]) -> None:
            def ended(end: Future[None]) -> None:
                error = end.exception()
                if isinstance(error, Exception):
                    emitter.on_error(error)
                else:
                    self._step(f"-{name}")
                    emitter.on_success(name)

            emitter.set_cancellable(lambda: self._step(f"!{name}"))
            self._begin(name)
            self.ends[name].add_done_callback(ended)

        return lambda: Single.create(start)


def mode(name: ToolExecutionMode) -> RunConfig:
    """A RunConfig with this mode."""
    return RunConfig(tool_execution_mode=name)


def answered(events: Sequence[Event]) -> list[list[str | None]]:
    """The names in each event that holds responses."""
    return [[one.name for one in event.function_responses] for event in events if event.function_responses]
