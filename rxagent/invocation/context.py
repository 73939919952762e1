"""InvocationContext: where an agent stands in a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from reactivex import Observable

from rxagent.events import Content, Event, State
from rxagent.streams import CancelScope, Ledger, Mailbox

from .invocation import Invocation
from .run_config import RunConfig

if TYPE_CHECKING:
    from rxagent.artifacts import BaseArtifactService
    from rxagent.events.pairing import LoggedCall
    from rxagent.memory import BaseMemoryService
    from rxagent.sessions import BaseSessionService, Session

__all__ = ["Agent", "InvocationContext"]


class Agent(Protocol):
    """The side of an agent that a run sees; `rxagent.agents` has the real ones."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    def run_async(self, parent_context: InvocationContext) -> Observable[Event]: ...

    def ends_with(self, event: Event) -> bool: ...


class InvocationContext:
    """One agent's view of a run. Derived contexts share the invocation; agent, branch and mailbox are their own.

    branch: the path of parallel agents above, joined by dots; None at the root. mailbox: the worker that this
    agent's code runs on. agent_state: the checkpoint that an earlier run has left for this agent (what an event's
    `actions.agent_state` held, or `{}`); None for an agent that begins anew.
    """

    __slots__ = ("agent", "agent_state", "branch", "invocation", "mailbox")

    def __init__(self, invocation: Invocation, agent: Agent, mailbox: Mailbox, branch: str | None = None) -> None:
        self.invocation = invocation
        self.agent = agent
        self.mailbox = mailbox
        self.branch = branch
        self.agent_state: Mapping[str, Any] | None = None

    def derived(
        self, *, agent: Agent | None = None, mailbox: Mailbox | None = None, branch: str | None = None
    ) -> InvocationContext:
        """A context for another agent, worker or branch of the same run."""
        return InvocationContext(
            self.invocation, agent or self.agent, mailbox or self.mailbox, self.branch if branch is None else branch
        )

    @property
    def is_resumable(self) -> bool:
        """True when agents write checkpoints, and the invocation can be gone on with."""
        return self.invocation.progress is not None

    @property
    def pauses_as_before(self) -> bool:
        """True in an app of ADK's older flow: a run pauses, and an answer starts a new invocation."""
        return self.invocation.resumability.plain_text_continuation_auto_resume

    def pauses(self) -> list[LoggedCall]:
        """The designed pauses of this agent in this invocation that are still owed an answer, in log order."""
        mine = (self.agent.name, self.branch)
        return [call for call in self.invocation.pauses() if (call.author, call.branch) == mine]

    @property
    def end_invocation(self) -> bool:
        """True when the run is to end after the current step; shared by all agents of the run."""
        return self.invocation.end_invocation

    @end_invocation.setter
    def end_invocation(self, value: bool) -> None:
        self.invocation.end_invocation = value

    @property
    def invocation_id(self) -> str:
        """The run's id."""
        return self.invocation.id

    @property
    def app_name(self) -> str:
        """The app whose session it is."""
        return self.invocation.app_name

    @property
    def user_id(self) -> str:
        """Whose session it is."""
        return self.invocation.user_id

    @property
    def session(self) -> Session:
        """The run's own view of the session."""
        return self.invocation.session

    @property
    def state(self) -> State:
        """The session's state, for run-level hooks: what they write goes out with the next event of the run."""
        return State(self.invocation.session.state, self.invocation.pending_state)

    @property
    def session_service(self) -> BaseSessionService:
        """The log's store."""
        return self.invocation.session_service

    @property
    def artifact_service(self) -> BaseArtifactService | None:
        """The store of the artifacts; None in a context that was given none."""
        return self.invocation.artifact_service

    @property
    def memory_service(self) -> BaseMemoryService | None:
        """The store of what the users' earlier sessions hold; None where there is none."""
        return self.invocation.memory_service

    @property
    def run_config(self) -> RunConfig:
        """How the run is to go."""
        return self.invocation.run_config

    @property
    def user_content(self) -> Content | None:
        """The message that started the run, as it was appended."""
        return self.invocation.user_content

    @property
    def scope(self) -> CancelScope:
        """Cancelled when this agent is to stop."""
        return self.mailbox.scope

    @property
    def ledger(self) -> Ledger:
        """The work of the run that is out."""
        return self.invocation.ledger

    @property
    def is_aborted(self) -> bool:
        """True once the run was stopped: by a dispose, an abort or a deadline."""
        return self.mailbox.scope.is_cancelled

    def on_abort(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Run `callback` once when the run is stopped, on the stopping thread. Returns what takes it back."""
        return self.mailbox.scope.on_cancel(callback)

    def __repr__(self) -> str:
        where = f", branch {self.branch}" if self.branch else ""
        return f"<InvocationContext {self.invocation_id}: agent {self.agent.name}{where}>"
