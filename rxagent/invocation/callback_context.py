"""CallbackContext and ToolContext: what callbacks, plugins and tools see of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from rxagent.errors import UsageError
from rxagent.events import Content, EventActions, Part, State, ToolConfirmation
from rxagent.streams import CancelScope

from .artifact_access import ArtifactAccess
from .context import InvocationContext
from .memory_access import MemoryAccess
from .run_config import RunConfig
from .service_answer import answer_in_coroutine

if TYPE_CHECKING:
    from rxagent.memory import SearchMemoryResponse
    from rxagent.sessions import Session

__all__ = ["CallbackContext", "ToolContext"]


class CallbackContext:
    """A callback's view of the run. What it writes to `state` and `actions` goes out with the event it is called for.

    Artifacts: `save_artifact`, `load_artifact` and `list_artifacts` wait for a service that returns awaitables, so in
    a coroutine they work with the built-in services alone (others: UsageError, as it would block the event loop);
    `await asave_artifact(...)` and its two sisters work there with every service. They raise what the service raises.
    Memory: `search_memory`, and `asearch_memory` for a coroutine, likewise.

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
        """The agent that this is called for."""
        return self.invocation_context.agent.name

    @property
    def invocation_id(self) -> str:
        """The run's id."""
        return self.invocation_context.invocation_id

    @property
    def user_id(self) -> str:
        """Whose session it is."""
        return self.invocation_context.user_id

    @property
    def session(self) -> Session:
        """The run's own view of the session; read it, and write through `state`."""
        return self.invocation_context.session

    @property
    def run_config(self) -> RunConfig:
        """How the run is to go."""
        return self.invocation_context.run_config

    @property
    def user_content(self) -> Content | None:
        """The message that started the run."""
        return self.invocation_context.user_content

    def save_artifact(self, filename: str, artifact: Part) -> int:
        """Save a new version, and note it in `actions.artifact_delta`; returns its number, from 0.

        A name that begins with `user:` is shared by the user's sessions.
        """
        access = self._artifacts
        return self._saved(filename, access.wait(access.save(filename, artifact)))

    def load_artifact(self, filename: str, version: int | None = None) -> Part | None:
        """That version, or the newest one; None when there is none."""
        access = self._artifacts
        return cast("Part | None", access.wait(access.load(filename, version)))

    def list_artifacts(self) -> list[str]:
        """The names of the session's artifacts and the user's, sorted."""
        access = self._artifacts
        return cast("list[str]", access.wait(access.keys()))

    async def asave_artifact(self, filename: str, artifact: Part) -> int:
        """`save_artifact` for a coroutine."""
        access = self._artifacts
        return self._saved(filename, await access.arrived(access.save(filename, artifact)))

    async def aload_artifact(self, filename: str, version: int | None = None) -> Part | None:
        """`load_artifact` for a coroutine."""
        access = self._artifacts
        return cast("Part | None", await access.arrived(access.load(filename, version)))

    async def alist_artifacts(self) -> list[str]:
        """`list_artifacts` for a coroutine."""
        access = self._artifacts
        return cast("list[str]", await access.arrived(access.keys()))

    def search_memory(self, query: str) -> SearchMemoryResponse:
        """What the user's remembered sessions say on the query. Raises ConfigError where there is no memory service."""
        access = self._memory
        return access.wait(access.search(query))

    async def asearch_memory(self, query: str) -> SearchMemoryResponse:
        """`search_memory` for a coroutine."""
        return cast("SearchMemoryResponse", await answer_in_coroutine(self._memory.search(query)))

    @property
    def _memory(self) -> MemoryAccess:
        return MemoryAccess(self.invocation_context.invocation, self.scope)

    @property
    def _artifacts(self) -> ArtifactAccess:
        return ArtifactAccess(self.invocation_context.invocation, self.scope)

    def _saved(self, filename: str, version: int) -> int:
        self.actions.artifact_delta[filename] = version
        return version

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

    function_call_id: the idempotency key, the same on every execution of the call. tool_confirmation: what the user has
    decided about this call; None as long as nobody has asked, or answered.
    """

    __slots__ = (
        "function_call_id",
        "landing",
        "show_progress",
        "tool_confirmation",
    )

    def __init__(
        self,
        context: InvocationContext,
        function_call_id: str,
        scope: CancelScope | None = None,
        actions: EventActions | None = None,
        tool_confirmation: ToolConfirmation | None = None,
    ) -> None:
        super().__init__(context, actions, scope)
        self.function_call_id = function_call_id
        self.tool_confirmation = tool_confirmation
        self.landing = context.invocation.calls.landing(function_call_id)
        self.show_progress: Callable[[str], bool] | None = None

    def report_progress(self, text: str) -> bool:
        """Show a piece of what the tool puts out, as a partial event that is never stored. From any thread.

        False when it was not shown: without `streaming_mode="sse"`, after a stop, or when too much of it waits already.
        """
        return self.show_progress is not None and not self.is_aborted and self.show_progress(text)

    def request_confirmation(self, hint: str = "", payload: Any = None) -> None:
        """Ask the user about this call. What the tool then returns is provisional: with the answer it runs again.

        hint: the question in words. payload: what the user may change; the answer's stands in `tool_confirmation`.
        Raises UsageError where there is no call to ask about.
        """
        if not self.function_call_id:
            raise UsageError("there is no call to ask about here; ask in the tool, or in a hook around it")
        question = ToolConfirmation(hint=hint or "", payload=payload)
        self.actions.requested_tool_confirmations[self.function_call_id] = question

    def __repr__(self) -> str:
        return f"<ToolContext {self.function_call_id} of {self.agent_name}>"
