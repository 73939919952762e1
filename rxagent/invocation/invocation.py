"""Invocation: what all code of one run shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rxagent.errors import LlmCallsLimitExceededError, SessionNotFoundError
from rxagent.events import Content, Event
from rxagent.history.digest import SessionDigest
from rxagent.streams import CancelScope, Ledger

from .call_book import CallBook
from .compaction_config import EventsCompactionConfig
from .outcome import Usage
from .progress import Progress
from .resumability import ResumabilityConfig
from .run_config import RunConfig
from .soft_stop import SoftStop

if TYPE_CHECKING:
    from rxagent.artifacts import BaseArtifactService
    from rxagent.events.pairing import LoggedCall
    from rxagent.memory import BaseMemoryService
    from rxagent.sessions import BaseSessionService, Session

__all__ = ["Invocation"]


class Invocation:
    """One run's identity, services, limits and counters.

    scope: cancelled when the run is stopped, for whatever reason. ledger: the work that is out. pending_state: what
    run-level hooks wrote, for the next event that is appended. end_invocation: the run ends after the current step.
    resumability: how it goes on after a pause. progress: where its agents stand, None when it is not resumable.
    """

    __slots__ = (
        "app_name",
        "append_unseen",
        "artifact_service",
        "calls",
        "compaction",
        "data",
        "digest",
        "end_invocation",
        "id",
        "ledger",
        "llm_calls",
        "memory_service",
        "pending_state",
        "plugins",
        "progress",
        "resumability",
        "run_config",
        "scope",
        "session_id",
        "session_or_none",
        "session_service",
        "soft_stop",
        "usage",
        "user_content",
        "user_id",
    )

    def __init__(
        self,
        id: str,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        session_service: BaseSessionService,
        plugins: Any,
        run_config: RunConfig,
        scope: CancelScope,
        ledger: Ledger,
        on_rest: Callable[[str, bool], object] | None = None,
        artifact_service: BaseArtifactService | None = None,
        memory_service: BaseMemoryService | None = None,
        compaction: EventsCompactionConfig | None = None,
        resumability: ResumabilityConfig | None = None,
    ) -> None:
        self.id = id
        self.app_name = app_name
        self.user_id = user_id
        self.session_id = session_id
        self.session_service = session_service
        self.plugins = plugins
        self.run_config = run_config
        self.scope = scope
        self.ledger = ledger
        self.artifact_service = artifact_service
        self.memory_service = memory_service
        self.compaction = compaction
        self.append_unseen: Callable[[Sequence[Event]], None]
        """Store events that are not shown: summaries of older ones."""
        self.session_or_none: Session | None = None
        self.user_content: Content | None = None
        self.usage = Usage()
        self.llm_calls = 0
        self.calls = CallBook()
        self.soft_stop = SoftStop(on_rest or (lambda reason, _: scope.cancel(reason)))
        self.end_invocation = False
        self.digest: SessionDigest
        """What the flow has derived from the log; set when the session was loaded."""
        self.pending_state: dict[str, Any] = {}
        self.resumability = resumability or ResumabilityConfig()
        self.progress = Progress() if self.resumability.resumable else None
        self.data: dict[str, Any] = {}
        """For plugins: what one hook wants to tell a later one."""

    @property
    def session(self) -> Session:
        """The run's own view of the session. Raises SessionNotFoundError before it was loaded."""
        if self.session_or_none is None:
            raise SessionNotFoundError(f"session {self.session_id!r} is not loaded yet; wait for before_run_callback")
        return self.session_or_none

    def pauses(self) -> list[LoggedCall]:
        """The designed pauses of this invocation that are still owed an answer, in log order."""
        if self.session_or_none is None:
            return []
        return [call for call in self.digest.pauses(self.session.events) if call.invocation_id == self.id]

    def is_owed_an_answer(self) -> bool:
        """True when it waits for somebody: what an agent's end has closed meanwhile counts no longer."""
        return bool(self.pauses()) and any(one.invocation_id == self.id for one in self.session.pending())

    def take_pending_state(self) -> dict[str, Any]:
        """What run-level hooks wrote, for the event that will carry it."""
        pending, self.pending_state = self.pending_state, {}
        return pending

    def count_llm_call(self) -> None:
        """One more model call. Raises LlmCallsLimitExceededError when it is one too many."""
        self.llm_calls += 1
        self.usage.llm_calls += 1
        limit = self.run_config.max_llm_calls
        if 0 < limit < self.llm_calls:
            raise LlmCallsLimitExceededError(
                f"Max number of llm calls limit of {limit} exceeded; raise RunConfig.max_llm_calls (0: no limit), "
                "or find out why the model does not come to an end"
            )
