"""openai-agents under the standard work. Run it with the Python of a virtual environment that has openai-agents.

`.none` is without a session: a turn gets its history as an argument.
"""

# mypy: ignore-errors
from __future__ import annotations

import itertools
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))
from agents import Agent, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from tests.bench.measuring import LENGTHS, WORDS, Figure, Loop, Metrics, imported, main, rate, turns

loop = Loop()
numbers = itertools.count()


def said(text: str) -> Any:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])


def call(count: int) -> Any:
    args = json.dumps({"a": count, "b": 1})
    return ResponseFunctionToolCall(type="function_call", call_id=f"c{next(numbers)}", name="add", arguments=args)


class Hello(Model):
    async def get_response(self, system_instructions: Any = None, input: Any = None, *_: Any, **__: Any) -> Any:
        return ModelResponse(output=[self.answer(input)], usage=Usage(), response_id=None)

    async def stream_response(self, *_: Any, **__: Any) -> Any:
        yield None

    def answer(self, input: Any) -> Any:
        return said("hello")


class TenCalls(Hello):
    def answer(self, input: Any) -> Any:
        items = input if isinstance(input, list) else []
        calls = sum(isinstance(item, dict) and item.get("type") == "function_call_output" for item in items)
        return call(calls) if calls < 10 else said("done")


@function_tool
async def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


AGENTS = {
    "runs": (Agent(name="a", instructions="You help.", model=Hello()), 200, 30),
    "loops": (Agent(name="b", instructions="You help.", model=TenCalls(), tools=[add]), 20, 4),
}


def runs(which: str, repeats: int) -> Figure:
    agent, n, _ = AGENTS[which]
    return rate(loop.each(lambda _: Runner.run(agent, "hi", max_turns=20)), n, repeats)


def stored(which: str, repeats: int) -> Figure:
    agent, _, n = AGENTS[which]
    path = tempfile.mkdtemp() + "/s.db"

    async def run(_: Any) -> None:
        session = SQLiteSession(f"s{next(numbers)}", path)
        await Runner.run(agent, "hi", session=session, max_turns=20)
        session.close()

    return rate(loop.each(run), n, repeats)


def growth(length: int, repeats: int) -> Figure:
    agent = AGENTS["runs"][0]
    history: list[Any] = [
        {"role": "assistant" if number % 2 else "user", "content": f"message number {number} {WORDS}"}
        for number in range(length)
    ]
    return turns(lambda: loop.run(Runner.run(agent, [*history, {"role": "user", "content": "hi"}])), repeats)


METRICS: Metrics = {
    "import_ms": partial(imported, "from agents import Agent, Runner"),
    "runs_1event.none": partial(runs, "runs"),
    "toolloop10.none": partial(runs, "loops"),
    "runs_1event.sqlite": partial(stored, "runs"),
    "toolloop10.sqlite": partial(stored, "loops"),
    **{f"turn_at_{length}.none": partial(growth, length) for length in LENGTHS},
}


if __name__ == "__main__":
    set_tracing_disabled(True)
    main("openai-agents", METRICS)
