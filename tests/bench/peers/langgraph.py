"""langgraph under the standard work. Run it with the Python of a virtual environment that has langgraph.

`.none` is without a checkpointer, `.mem` with the one in memory.
"""

# mypy: ignore-errors
from __future__ import annotations

import itertools
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.pop(0)  # this file has the name of the package
sys.path.insert(0, str(Path(__file__).parents[3]))
os.environ.setdefault("LANGSMITH_TRACING", "false")
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent

from tests.bench.measuring import LENGTHS, WORDS, Figure, Loop, Metrics, imported, main, rate, turns

loop = Loop()
threads = itertools.count()


class Fake(BaseChatModel):
    """Says done; with `calls`, asks for the tool so often before."""

    calls: int = 0

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
        count = 0
        for message in reversed(messages):
            if isinstance(message, ToolMessage):
                count += 1
            elif isinstance(message, HumanMessage):
                break
        answer = AIMessage(content="done")
        if count < self.calls:
            calls = [{"name": "add", "args": {"a": count, "b": 1}, "id": f"c{count}"}]
            answer = AIMessage(content="", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=answer)])

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
        return self._generate(messages)


@tool
async def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def graph(calls: int, kind: str) -> Any:
    saver = InMemorySaver() if kind == "mem" else None
    return create_react_agent(Fake(calls=calls), [add] if calls else [], prompt="You help.", checkpointer=saver)


def config() -> Any:
    return {"configurable": {"thread_id": f"t{next(threads)}"}, "recursion_limit": 60}


def hi() -> Any:
    return {"messages": [HumanMessage("hi")]}


def runs(calls: int, kind: str, n: int, repeats: int) -> Figure:
    agent = graph(calls, kind)
    return rate(loop.each(lambda _: agent.ainvoke(hi(), config())), n, repeats)


def growth(length: int, repeats: int) -> Figure:
    agent, where = graph(0, "mem"), config()
    kinds = (HumanMessage, AIMessage)
    history = [kinds[number % 2](f"message number {number} {WORDS}") for number in range(length)]
    loop.run(agent.aupdate_state(where, {"messages": history}))
    return turns(lambda: loop.run(agent.ainvoke(hi(), where)), repeats)


METRICS: Metrics = {
    "import_ms": partial(imported, "from langgraph.prebuilt import create_react_agent"),
    **{f"runs_1event.{kind}": partial(runs, 0, kind, 100) for kind in ("none", "mem")},
    **{f"toolloop10.{kind}": partial(runs, 10, kind, 10) for kind in ("none", "mem")},
    **{f"turn_at_{length}.mem": partial(growth, length) for length in LENGTHS},
}


if __name__ == "__main__":
    main("langgraph", METRICS)
