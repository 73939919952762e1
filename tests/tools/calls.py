"""Calling a tool by hand: a context, and what came of the Single."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from reactivex import abc

from rxagent.events import EventActions, State, ToolConfirmation
from rxagent.streams.scope import CancelScope
from rxagent.tools import BaseTool, CallContext, FunctionTool

__all__ = ["Call", "HandContext", "call", "result_of"]


class HandContext:
    """A CallContext that a test makes by hand."""

    def __init__(self, function_call_id: str = "c1") -> None:
        self.function_call_id = function_call_id
        self.invocation_id = "i1"
        self.agent_name = "agent"
        self.user_id = "u"
        self.actions = EventActions()
        self.state = State({}, self.actions.state_delta)
        self.end_invocation = False
        self.scope = CancelScope()
        self.tool_confirmation: ToolConfirmation | None = None

    @property
    def is_aborted(self) -> bool:
        return self.scope.is_cancelled

    def report_progress(self, text: str) -> bool:
        return False

    def request_confirmation(self, hint: str = "", payload: Any = None) -> None:
        self.actions.requested_tool_confirmations[self.function_call_id] = ToolConfirmation(hint=hint, payload=payload)

    def on_abort(self, callback: Callable[[], object]) -> Callable[[], None]:
        return self.scope.on_cancel(callback)


class Call:
    """A subscription to one call: what it gave, and when."""

    def __init__(self, tool: BaseTool, args: dict[str, Any], context: CallContext | None = None) -> None:
        self.results: list[dict[str, Any]] = []
        self.errors: list[Exception] = []
        self.completed = False
        self.ended = threading.Event()
        self.handle: abc.DisposableBase = tool.run_async(args, context or HandContext()).subscribe(
            self.results.append, self._fail, self._complete
        )

    def _fail(self, error: Exception) -> None:
        self.errors.append(error)
        self.ended.set()

    def _complete(self) -> None:
        self.completed = True
        self.ended.set()

    def wait(self) -> Call:
        assert self.ended.wait(5), "the call did not end"
        return self


def call(tool: BaseTool | Callable[..., object], **args: object) -> Call:
    """Call a tool, or a function as one, and wait for the end."""
    return Call(tool if isinstance(tool, BaseTool) else FunctionTool(tool), args).wait()


def result_of(tool: BaseTool | Callable[..., object], **args: object) -> dict[str, Any]:
    """The one result of a call that must not fail."""
    ended = call(tool, **args)
    assert ended.errors == []
    assert ended.completed
    [result] = ended.results
    return result
