"""What a tool may use of the turn and of the call that it serves; the contexts of a run satisfy these protocols."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any, Protocol

from rxagent.events import EventActions, ToolConfirmation

__all__ = ["CallContext", "TurnContext"]


class TurnContext(Protocol):
    """The turn that tools are offered in: whose it is, and its state."""

    @property
    def invocation_id(self) -> str: ...

    @property
    def agent_name(self) -> str: ...

    @property
    def user_id(self) -> str: ...

    @property
    def state(self) -> MutableMapping[str, Any]: ...


class CallContext(TurnContext, Protocol):
    """The call that a tool answers. A function tool gets it in the parameter named `tool_context`.

    function_call_id: the same on every execution of this call, also on replay and resume, and unique in the session:
    the key for writes that must not happen twice.
    is_aborted: true once the run was stopped. on_abort: runs its callback once then, at once when that was earlier,
    on the stopping thread; returns what takes the callback back.
    actions: what the event of this call's response will carry besides the result.
    tool_confirmation: what the user has decided about this call, None before. request_confirmation: asks.
    report_progress: shows a piece of output as a partial event, from any thread; False when it could not.
    end_invocation: set it to True to end the run after this call.

    For a type checker a subclass of BaseTool names this type in `run_async`, not a narrower one.
    """

    end_invocation: bool

    @property
    def function_call_id(self) -> str: ...

    @property
    def actions(self) -> EventActions: ...

    @property
    def tool_confirmation(self) -> ToolConfirmation | None: ...

    def request_confirmation(self, hint: str = "", payload: Any = None) -> None: ...

    def report_progress(self, text: str) -> bool: ...

    @property
    def is_aborted(self) -> bool: ...

    def on_abort(self, callback: Callable[[], object]) -> Callable[[], None]: ...
