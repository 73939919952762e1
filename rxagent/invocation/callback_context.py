"""CallbackContext and ToolContext: what callbacks, plugins and tools see of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rxagent.events import Content, EventActions, State
from rxagent.streams import CancelScope

from .context import InvocationContext
from .run_config import RunConfig

if TYPE_CHECKING:
    from rxagent.sessions import Session

__all__ = ["CallbackContext", "ToolContext"]


class CallbackContext:
    """A callback's view of the run. What it writes to `state` and `actions` goes out with the event it is called for.

    Threads: it belongs to the callback; `is_aborted` and `on_abort` may be used from any thread.
    """

    __slots__ = ("actions", "invocation_context", "scope", "state")

    def __init__(
        self, context: InvocationContext, actions: EventActions | None = None, scope: CancelScope | None = None
    ) -> None:
        self.invocation_context = context
        self.actions = actions if actions is not None else EventActions()
        self.scope = scope or context.scope
        session = context.invocation.session_or_none
        self.state = State({} if session is None else session.state, self.actions.state_delta)

    @property
    def agent_name(self) -> str:
        return self.invocation_context.agent.name

    @property
    def invocation_id(self) -> str:
        return self.invocation_context.invocation_id

    @property
    def user_id(self) -> str:
        return self.invocation_context.user_id

    @property
    def session(self) -> Session:
        """The run's own view of the session; read it, and write through `state`."""
        return self.invocation_context.session

    @property
    def run_config(self) -> RunConfig:
        return self.invocation_context.run_config

    @property
    def user_content(self) -> Content | None:
        """The message that started the run."""
        return self.invocation_context.user_content

    @property
    def is_aborted(self) -> bool:
        """True once this code is to stop: the run was disposed, aborted or timed out, or this call was cancelled."""
        return self.scope.is_cancelled

    def on_abort(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Run `callback` once when this code is to stop, on the stopping thread. Returns what takes it back."""
        return self.scope.on_cancel(callback)

    @property
    def end_invocation(self) -> bool:
        """Set it, and the run ends after the current step, as completed."""
        return self.invocation_context.end_invocation

    @end_invocation.setter
    def end_invocation(self, value: bool) -> None:
        self.invocation_context.end_invocation = value


class ToolContext(CallbackContext):
    """A tool's view of the run: a callback's, and the call.

    function_call_id: the idempotency key, the same on every execution of the call.
    """

    __slots__ = ("function_call_id",)

    def __init__(
        self,
        context: InvocationContext,
        function_call_id: str,
        scope: CancelScope | None = None,
        actions: EventActions | None = None,
    ) -> None:
        super().__init__(context, actions, scope)
        self.function_call_id = function_call_id

    def __repr__(self) -> str:
        return f"<ToolContext {self.function_call_id} of {self.agent_name}>"
