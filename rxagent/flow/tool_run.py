"""ToolRun: one call of a tool, with the hooks around it."""

from __future__ import annotations

from typing import Any, final

from rxagent.errors import ToolError
from rxagent.events import FunctionCall, Part, ToolConfirmation
from rxagent.events import FunctionResponse as Response
from rxagent.events.value import own_copy
from rxagent.invocation import InvocationContext, ToolContext
from rxagent.plugins import first
from rxagent.streams import CancelScope, Single
from rxagent.tools import BaseTool, error_result, to_result

from .asking_agent import AskingAgent

__all__ = ["ToolRun"]


@final
class ToolRun:
    """Before-tool, tool, on-tool-error, after-tool; the result stands in `result` when it has ended.

        begin   -before-tool.run_async--> Single, or None when there is nothing to wait for
        end     -(on_tool_error)-after-->

    An unknown tool ends at once with a result that tells the model which tools there are. A ToolError of the tool, or
    of a before-tool hook, is a result with its text; only other errors are asked about and may fail the run.
    Threads: one at a time; `begin` and `end` may block and run the plugins' and the agent's code.
    """

    __slots__ = ("_agent", "args", "call", "context", "has_ended", "result", "scope", "tool")

    def __init__(
        self,
        agent: AskingAgent,
        context: InvocationContext,
        scope: CancelScope,
        call: FunctionCall,
        tools: dict[str, BaseTool],
        confirmation: ToolConfirmation | None = None,
    ) -> None:
        self._agent = agent
        self.call = call
        self.scope = scope.child()
        self.context = ToolContext(context, call.id or "", self.scope, tool_confirmation=confirmation)
        self.args: dict[str, Any] = own_copy(call.args or {})  # hooks and tool may edit it; the log must not follow
        self.tool = tools.get(call.name or "")
        self.result: dict[str, Any] | None = None
        self.has_ended = False
        if call.id:
            context.invocation.calls.runs[call.id] = self
        if self.tool is None:
            names = ", ".join(tools) or "none"
            self._finish(error_result(f"There is no tool named {call.name!r}. The tools are: {names}."))

    def begin(self) -> Single[Any] | None:
        """Ask the before-hooks, then make the tool's Single; None when it has ended, or is not to start.

        Raises what no on-tool-error hook has taken.
        """
        if self.tool is None:
            return None
        self.scope.check()
        stop = self.context.invocation_context.invocation.soft_stop
        if not stop.may_start():
            return None
        try:
            result = self._first("before_tool_callback", self._agent.before_tool_callbacks)
            self.scope.check()
            if result is None and not stop.may_start():  # asked meanwhile
                return None
            if result is None:
                self.context.landing.called()
            single = self.tool.run_async(self.args, self.context) if result is None else None
        except Exception as error:
            self.end(None, error)
            return None
        if single is None:
            self.end(result, None)
        return single

    def end(self, result: Any, error: Exception | None) -> None:
        """The tool has ended: run the hooks that follow. Raises the error when no hook answers it."""
        try:
            if isinstance(error, ToolError):
                result = error_result(str(error))
            elif error is not None:
                result = self._first("on_tool_error_callback", self._agent.on_tool_error_callbacks, error)
                if result is None:
                    raise error
            result = _in_a_dict(result)
            replaced = self._first("after_tool_callback", self._agent.after_tool_callbacks, result)
        finally:
            self.scope.detach()
        self._finish(result if replaced is None else _in_a_dict(replaced))

    def stop(self) -> None:
        """Tell a call that has not ended that nobody waits for it any more."""
        if not self.has_ended:
            self.scope.cancel("left")

    def run(self, scope: CancelScope) -> None:
        """Begin, wait, end: for a worker of its own."""
        single = self.begin()
        if single is None:
            return
        try:
            result = single.blocking_get(scope)
        except Exception as error:
            self.end(None, error)
        else:
            self.end(result, None)

    def response(self) -> Part | None:
        """The response part; None when a long-running tool had nothing to say yet.

        Once the user has decided about the call it has a response, though an empty one: else it would run again.
        """
        is_silent = not self.result and self.context.tool_confirmation is None
        if is_silent and self.tool is not None and self.tool.is_long_running:
            return None
        return Part(function_response=Response(id=self.call.id, name=self.call.name, response=self.result or {}))

    def _finish(self, result: dict[str, Any]) -> None:
        self.result = result
        self.has_ended = True

    def _first(self, hook: str, callbacks: Any, *more: Any) -> Any:
        args = (self.tool, self.args, self.context, *more)
        plugins = self.context.invocation_context.invocation.plugins
        answer = plugins.first(hook, self.scope, *args)
        return first(callbacks, self.scope, *args) if answer is None else answer


def _in_a_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else to_result(value)
