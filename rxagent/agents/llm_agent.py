"""LlmAgent: an agent that asks a model and runs the tools that it calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from reactivex import Observable

from rxagent.errors import ConfigError, DuplicateToolError
from rxagent.events import Event
from rxagent.flow import run_llm_flow
from rxagent.flow.contents import IncludeContents
from rxagent.invocation import CallbackContext, InvocationContext
from rxagent.models import BaseLlm, GenerateContentConfig, LlmRegistry
from rxagent.streams import CancelScope, Emit, Work, settle
from rxagent.tools import BaseTool, BaseToolset, as_tool

from .base import BaseAgent
from .callbacks import OneOrMany, callbacks

__all__ = ["Instruction", "LlmAgent"]

Instruction: TypeAlias = str | Callable[[CallbackContext], Any]
"""A text, or a function (also a coroutine function) that gives one for each request."""


class LlmAgent(BaseAgent):
    """Asks its model, runs the tools that the model calls, and asks again, until the model has said its last.

    model: a name for the registry (`"local"`, `"gpt-4o-mini"`), or a BaseLlm. instruction: the system instruction.
    tools: functions, BaseTools, BaseToolsets. generate_content_config: how to generate. include_contents: "none" sends
    the current turn alone, without history.
    The callbacks: before_model(ctx, request), after_model(ctx, response), on_model_error(ctx, request, error),
    before_tool(tool, args, ctx), after_tool(tool, args, ctx, result), on_tool_error(tool, args, ctx, error); each a
    function, a coroutine function, or one that returns a Single; one or a list.

    Raises ConfigError for a tool or a callback that is none, DuplicateToolError for two tools of one name.
    """

    def __init__(
        self,
        *,
        name: str,
        model: str | BaseLlm | None = None,
        instruction: Instruction = "",
        description: str = "",
        tools: Iterable[BaseTool | BaseToolset | Callable[..., Any]] = (),
        generate_content_config: GenerateContentConfig | None = None,
        include_contents: IncludeContents = "default",
        before_agent_callback: OneOrMany = None,
        after_agent_callback: OneOrMany = None,
        before_model_callback: OneOrMany = None,
        after_model_callback: OneOrMany = None,
        on_model_error_callback: OneOrMany = None,
        before_tool_callback: OneOrMany = None,
        after_tool_callback: OneOrMany = None,
        on_tool_error_callback: OneOrMany = None,
    ) -> None:
        super().__init__(
            name=name,
            description=description,
            before_agent_callback=before_agent_callback,
            after_agent_callback=after_agent_callback,
        )
        if model is not None and not isinstance(model, (str, BaseLlm)):
            raise ConfigError(f"the model of agent {name!r} is a {type(model).__name__}; give a name or a BaseLlm")
        self.model = model
        self.instruction = instruction
        self.tools: Sequence[BaseTool | BaseToolset] = _checked(name, tools)
        self.generate_content_config = generate_content_config or GenerateContentConfig()
        self.include_contents: IncludeContents = include_contents
        self.before_model_callbacks = callbacks("before_model_callback", before_model_callback)
        self.after_model_callbacks = callbacks("after_model_callback", after_model_callback)
        self.on_model_error_callbacks = callbacks("on_model_error_callback", on_model_error_callback)
        self.before_tool_callbacks = callbacks("before_tool_callback", before_tool_callback)
        self.after_tool_callbacks = callbacks("after_tool_callback", after_tool_callback)
        self.on_tool_error_callbacks = callbacks("on_tool_error_callback", on_tool_error_callback)

    def canonical_model(self) -> BaseLlm:
        """The model. Raises ConfigError when the agent has none."""
        if self.model is None:
            raise ConfigError(f"No model found for agent {self.name} or its ancestors; give it model=...")
        return self.model if isinstance(self.model, BaseLlm) else LlmRegistry.resolve(self.model)

    def instructions(self, context: InvocationContext) -> Sequence[str]:
        """The texts of the system instruction."""
        if isinstance(self.instruction, str):
            return (self.instruction,)
        return (settle(self.instruction(CallbackContext(context)), context.scope),)

    def run_async_impl(self, ctx: InvocationContext) -> Observable[Event]:
        """The model-tool loop, as one piece of work."""
        return Work(ctx.mailbox, lambda emit, scope: run_llm_flow(self, ctx, emit, scope))

    def run_async(self, parent_context: InvocationContext) -> Observable[Event]:
        """The agent with its callbacks, as one piece of work: a chain of three costs more than it says."""
        ctx = self._entered(parent_context)

        def body(emit: Emit[Event], scope: CancelScope) -> None:
            if not self._before(ctx, emit, scope):
                run_llm_flow(self, ctx, emit, scope)
                self._after(ctx, emit, scope)

        return Work(ctx.mailbox, body)


def _checked(
    agent: str, tools: Iterable[BaseTool | BaseToolset | Callable[..., Any]]
) -> tuple[BaseTool | BaseToolset, ...]:
    checked = tuple(tool if isinstance(tool, BaseToolset) else as_tool(tool) for tool in tools)
    names = [tool.name for tool in checked if isinstance(tool, BaseTool)]
    for name in names:
        if names.count(name) > 1:
            raise DuplicateToolError(f"agent {agent!r} has two tools named {name!r}; rename one of them")
    return checked
