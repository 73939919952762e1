"""pydantic-ai under the standard work. Run it with the Python of a virtual environment that has pydantic-ai-slim.

It has no sessions: `.none`; a turn gets its history as an argument.
"""

# mypy: ignore-errors
from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.pop(0)  # this file has the name of the package
sys.path.insert(0, str(Path(__file__).parents[3]))
from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from tests.bench.measuring import LENGTHS, WORDS, Figure, Loop, Metrics, imported, main, rate, turns

loop = Loop()


async def hello(messages: Any, info: Any) -> Any:
    return ModelResponse(parts=[TextPart("hello")])


async def ten_calls(messages: Any, info: Any) -> Any:
    calls = sum(isinstance(message, ModelResponse) for message in messages)
    return ModelResponse(parts=[ToolCallPart("add", {"a": calls, "b": 1}) if calls < 10 else TextPart("done")])


async def chunks(messages: Any, info: Any) -> Any:
    for _ in range(1000):
        yield "chunk "


async def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def runs(repeats: int) -> Figure:
    agent = Agent(FunctionModel(hello), instructions="You help.")
    return rate(loop.each(lambda _: agent.run("hi")), 200, repeats)


def loops(repeats: int) -> Figure:
    agent = Agent(FunctionModel(ten_calls), instructions="You help.")
    agent.tool_plain(add)
    return rate(loop.each(lambda _: agent.run("hi")), 20, repeats)


def streams(repeats: int) -> Figure:
    agent = Agent(FunctionModel(stream_function=chunks))

    async def run(_: Any) -> None:
        async with agent.run_stream("hi") as answer:
            async for _ in answer.stream_text(delta=True, debounce_by=None):
                pass

    return rate(loop.each(run), 2, repeats, per=1001)


def growth(length: int, repeats: int) -> Figure:
    agent = Agent(FunctionModel(hello), instructions="You help.")
    history = [
        ModelResponse(parts=[TextPart(f"message number {number} {WORDS}")])
        if number % 2
        else ModelRequest(parts=[UserPromptPart(f"message number {number} {WORDS}")])
        for number in range(length)
    ]
    return turns(lambda: loop.run(agent.run("hi", message_history=history)), repeats)


METRICS: Metrics = {
    "import_ms": partial(
        imported, "from pydantic_ai import Agent; from pydantic_ai.models.function import FunctionModel"
    ),
    "runs_1event.none": runs,
    "toolloop10.none": loops,
    "stream1000.none": streams,
    **{f"turn_at_{length}.none": partial(growth, length) for length in LENGTHS},
}


if __name__ == "__main__":
    main("pydantic-ai-slim", METRICS)
