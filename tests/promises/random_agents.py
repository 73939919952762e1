"""Agents drawn at random: trees, tools, callbacks, hand-overs. One seed, one agent."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from rxagent import AgentTool, ToolContext, ToolError
from rxagent.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from rxagent.events import Content
from rxagent.models import LlmResponse
from rxagent.streams import Single
from rxagent.testing import ScriptedModel, call
from rxagent.tools import FunctionTool, LongRunningFunctionTool, ToolLike

__all__ = ["random_agent"]

_DEEPEST = 2
_MOST = 7
"""Agents in a tree; those that are tools are not counted."""


def plain(n: int) -> int:
    """Answer at once."""
    return n


async def slow(n: int) -> int:
    """Answer from the loop."""
    await asyncio.sleep(0.001)
    return n


def later(n: int) -> Single[int]:
    """Answer as a Single."""
    return Single.just(n)


def writes(n: int, tool_context: ToolContext) -> dict[str, int]:
    """Write the state."""
    tool_context.state["n"] = n
    return {"n": n}


def refuses(n: int) -> None:
    """Fail in words."""
    raise ToolError(f"not {n}")


def breaks(n: int) -> None:
    """Fail."""
    raise ValueError(n)


def enough(n: int, tool_context: ToolContext) -> str:
    """End the loop around."""
    tool_context.actions.escalate = True
    return "enough"


def asked(n: int) -> str:
    """Done when the user agrees."""
    return "agreed"


def waits(n: int) -> None:
    """Answered another day."""


_TOOLS: tuple[ToolLike, ...] = (
    plain,
    slow,
    later,
    writes,
    refuses,
    breaks,
    enough,
    FunctionTool(asked, require_confirmation=True),
    LongRunningFunctionTool(waits),
)


def random_agent(seed: int, *, answers: bool = True) -> BaseAgent:
    """A new agent; the same for the same seed, down to the words of its models. answers: of its callbacks, too."""
    return _Drawing(random.Random(seed), answers).agent(0)


class _Drawing:
    def __init__(self, chance: random.Random, answers: bool) -> None:
        self._chance = chance
        self._answers = answers
        self._made = 0

    def _often(self, share: float) -> bool:
        return self._chance.random() < share

    def _name(self) -> str:
        self._made += 1
        return f"a{self._made}"

    def agent(self, depth: int) -> BaseAgent:
        kind = self._chance.choice(["llm", "llm", "sequential", "loop", "parallel"] if depth < _DEEPEST else ["llm"])
        if kind == "llm":
            return self._llm(depth)
        name = self._name()
        hooks: dict[str, Any] = {"after_agent_callback": self._agent_callback()} if self._often(0.3) else {}
        if kind == "parallel":  # one branch: where two of them meet is chance
            return ParallelAgent(name=name, sub_agents=[self.agent(depth + 1)], **hooks)
        members = [self.agent(depth + 1) for _ in range(self._chance.randint(1, 2))]
        if kind == "loop":
            return LoopAgent(name=name, max_iterations=self._chance.randint(1, 2), sub_agents=members, **hooks)
        return SequentialAgent(name=name, sub_agents=members, **hooks)

    def _llm(self, depth: int, *, as_tool: bool = False) -> LlmAgent:
        name = self._name()
        tools = self._chance.sample(_TOOLS, self._chance.randint(0, 3))
        if not as_tool and self._often(0.2):
            tools = [*tools, AgentTool(self._llm(_DEEPEST, as_tool=True))]
        kids = []
        if depth < _DEEPEST and self._made < _MOST and self._often(0.4):
            kids = [self.agent(depth + 1) for _ in range(self._chance.randint(1, 2))]
        turns = [self._turn(tools, kids) for _ in range(self._chance.randint(1, 3))]
        hooks: dict[str, Any] = {
            hook: callback()
            for hook, callback in {
                "before_agent_callback": self._agent_callback,
                "after_agent_callback": self._agent_callback,
                "before_model_callback": self._model_callback,
                "after_model_callback": self._model_callback,
                "before_tool_callback": self._tool_callback,
                "after_tool_callback": self._tool_callback,
            }.items()
            if self._often(0.15)
        }
        more: dict[str, Any] = {"output_key": "said"} if self._often(0.2) else {}
        model = ScriptedModel(*turns, ["Done."], repeat_last=True, by_history=True)
        return LlmAgent(name=name, model=model, tools=tools, sub_agents=kids, max_steps=4, **hooks, **more)

    def _turn(self, tools: list[ToolLike], kids: list[BaseAgent]) -> list[Any]:
        words: list[Any] = ["Let ", "me see."] if self._often(0.5) else []
        if kids and self._often(0.5):
            return [*words, call("transfer_to_agent", agent_name=self._chance.choice(kids).name)]
        if tools and self._often(0.8):
            return [*words, *(self._call(self._chance.choice(tools)) for _ in range(self._chance.randint(1, 3)))]
        return words or ["I see."]

    def _call(self, tool: ToolLike) -> Any:
        if isinstance(tool, AgentTool):
            return call(tool.name, request="Help")
        return call(str(getattr(tool, "name", None) or getattr(tool, "__name__", "")), n=self._chance.randint(0, 9))

    # -- callbacks: most only look -----------------------------------------------------------------------------------

    def _agent_callback(self) -> Callable[..., Any]:
        says = Content.model("Instead.") if self._often(0.3) and self._answers else None
        writes_state = self._often(0.5)

        def callback(ctx: Any) -> Content | None:
            if writes_state:
                ctx.state["seen"] = True
            return says

        return callback

    def _model_callback(self) -> Callable[..., Any]:
        says = LlmResponse(content=Content.model("Instead.")) if self._often(0.3) and self._answers else None
        return lambda *_: says

    def _tool_callback(self) -> Callable[..., Any]:
        says = {"instead": True} if self._often(0.3) and self._answers else None
        return lambda *_: says
