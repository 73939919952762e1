"""AskingAgent: what the flow knows of an agent that asks a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from rxagent.history.contents import IncludeContents
from rxagent.invocation import InvocationContext
from rxagent.models import BaseLlm, GenerateContentConfig
from rxagent.tools import BaseTool, BaseToolset

from .output_schema import OutputSchema
from .transfer import TransferTarget

__all__ = ["AskingAgent", "Callbacks"]

Callbacks = Sequence[Callable[..., Any]]


class AskingAgent(Protocol):
    """An LlmAgent, seen from below: `rxagent.agents` has the real one."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def tools(self) -> Sequence[BaseTool | BaseToolset]: ...
    @property
    def generate_content_config(self) -> GenerateContentConfig: ...
    @property
    def include_contents(self) -> IncludeContents: ...
    @property
    def output_key(self) -> str | None: ...
    @property
    def output_schema(self) -> OutputSchema | None: ...
    @property
    def output_repair(self) -> int: ...
    @property
    def max_steps(self) -> int | None: ...
    @property
    def before_model_callbacks(self) -> Callbacks: ...
    @property
    def after_model_callbacks(self) -> Callbacks: ...
    @property
    def on_model_error_callbacks(self) -> Callbacks: ...
    @property
    def before_tool_callbacks(self) -> Callbacks: ...
    @property
    def after_tool_callbacks(self) -> Callbacks: ...
    @property
    def on_tool_error_callbacks(self) -> Callbacks: ...

    @property
    def transfer_targets(self) -> Sequence[TransferTarget]: ...

    def canonical_model(self) -> BaseLlm:
        """The model: the agent's own, or the nearest ancestor's. Raises ConfigError when there is none."""
        ...

    def instructions(self, context: InvocationContext) -> Sequence[str]:
        """The texts of the system instruction, in order; may block."""
        ...
