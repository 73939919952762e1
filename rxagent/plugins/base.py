"""BasePlugin: hooks that see every run of a runner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rxagent.events import Content, Event
from rxagent.invocation import CallbackContext, InvocationContext, Outcome, ToolContext
from rxagent.models import LlmRequest, LlmResponse

if TYPE_CHECKING:
    from rxagent.tools import BaseTool

__all__ = ["BasePlugin"]


class BasePlugin:
    """Override the hooks you need; a hook returns nothing, or a replacement.

    A hook is a function, a coroutine function, or returns a Single. Plugins are asked in order, before the agent's
    own callbacks; the first replacement wins and later ones are not asked. An error in a hook fails the run, except
    in `on_run_error_callback` and `on_run_end`. Threads: the run's worker, or the run's loop for coroutines.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def on_user_message_callback(self, ctx: InvocationContext, message: Content) -> Any:
        """A Content replaces the message before it is appended."""

    def before_run_callback(self, ctx: InvocationContext) -> Any:
        """A Content becomes the run's only event; no agent runs."""

    def on_event_callback(self, ctx: InvocationContext, event: Event) -> Any:
        """Called for each event after it was stored (partial ones too); an Event replaces what is emitted."""

    def after_run_callback(self, ctx: InvocationContext) -> Any:
        """Called only when the run completed normally, before `on_completed`."""

    def on_run_error_callback(self, ctx: InvocationContext, error: BaseException) -> Any:
        """Told that the run failed; an error in it is logged."""

    def on_run_end(self, ctx: InvocationContext, outcome: Outcome) -> Any:
        """Called once for every run, whatever its outcome; an error in it is logged."""

    def before_agent_callback(self, ctx: CallbackContext) -> Any:
        """A Content is the agent's reply; the agent does not run."""

    def after_agent_callback(self, ctx: CallbackContext) -> Any:
        """A Content is a further event of the agent."""

    def before_model_callback(self, ctx: CallbackContext, llm_request: LlmRequest) -> Any:
        """An LlmResponse stands for the model's; the model is not called."""

    def after_model_callback(self, ctx: CallbackContext, llm_response: LlmResponse) -> Any:
        """An LlmResponse replaces this one."""

    def on_model_error_callback(self, ctx: CallbackContext, llm_request: LlmRequest, error: Exception) -> Any:
        """An LlmResponse stands for the failed one."""

    def before_tool_callback(self, tool: BaseTool, args: dict[str, Any], ctx: ToolContext) -> Any:
        """A dict is the result; the tool is not called."""

    def after_tool_callback(
        self, tool: BaseTool, args: dict[str, Any], ctx: ToolContext, result: dict[str, Any]
    ) -> Any:
        """A dict replaces the result."""

    def on_tool_error_callback(self, tool: BaseTool, args: dict[str, Any], ctx: ToolContext, error: Exception) -> Any:
        """A dict is the result in place of the error."""

    def close(self) -> Any:
        """The runner closes."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"
