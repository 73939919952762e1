"""The session service: what a store must do so that runs can append, be stopped, and follow each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

from rxagent.events import Event

from .append_each import append_each, followed
from .delta import stored_form
from .faults import stale
from .key import SessionKey
from .local_runs import LocalRuns
from .session import Session
from .turn import OpenRun, Owner, RunTicket, StopRequest

__all__ = [
    "BaseSessionService",
    "GetSessionConfig",
    "MaybeAwaitable",
    "OpenRun",
    "Owner",
    "RunTicket",
    "SessionKey",
    "StopRequest",
]

T = TypeVar("T")
MaybeAwaitable: TypeAlias = T | Awaitable[T]
"""Built-in services return values; a user's service may return awaitables, which a run awaits."""


class GetSessionConfig(NamedTuple):
    """Which events `get_session` loads: the last N; from a time on (ms, inclusive); behind a sequence number.

    limit: of these the first N, so that a long log can be read page by page; a service that does not know it loads all.
    """

    num_recent_events: int | None = None
    after_timestamp: int | None = None
    after_seq: int | None = None
    limit: int | None = None


class BaseSessionService(ABC):
    """Sessions, each an append-only log of events and a state, ordered by sequence number (from 1).

    Five methods are enough: create, get, list, delete and append_event, in ADK's shape. The others have defaults that
    serve one process; a store for several overrides them and sets `shared`.

    Arguments are ADK's. Every method may be called from any thread; what a method promises to write is written
    entirely or not at all. `expected_seq` is the last sequence number the caller knows.
    """

    shared: ClassVar[bool] = False
    """True when other processes may use the same store: then turns are leases, which must be renewed."""

    @abstractmethod
    def create_session(
        self, app_name: str, user_id: str, state: Mapping[str, Any] | None = None, session_id: str | None = None
    ) -> MaybeAwaitable[Session]:
        """A new session. Keys `app:` and `user:` of the state go to their scope; `temp:` is not kept.

        Raises UsageError when the session exists. Without an id it gets a fresh one.
        """

    @abstractmethod
    def get_session(
        self, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> MaybeAwaitable[Session | None]:
        """The session as stored, or None. The result is the caller's own copy."""

    @abstractmethod
    def list_sessions(self, app_name: str, user_id: str | None = None) -> MaybeAwaitable[list[Session]]:
        """The sessions of a user (of all users, without one), without their events, the latest changed first."""

    @abstractmethod
    def delete_session(self, app_name: str, user_id: str, session_id: str) -> MaybeAwaitable[None]:
        """Remove the session and its events. No error when there is none."""

    @abstractmethod
    def append_event(
        self, session: Session, event: Event, *, expected_seq: int | None = None, epoch: int | None = None
    ) -> MaybeAwaitable[Event]:
        """Store the event at the end; returns it with its `seq`, without `temp:` keys. `session` follows.

        A partial event is returned untouched. Raises StaleSessionError when `expected_seq` is not the end,
        FencedError when `epoch` is not that of the session's open turn, SessionNotFoundError, or another
        SessionError; then nothing was written.

        A service with ADK's shape, `append_event(session, event)`, is used too, see `append_events`. Called by
        `super()`, this one only lets `session` follow, as ADK's does.
        """
        if event.partial:
            return event
        return followed(session, stored_form(event))

    def append_events(
        self,
        session: Session,
        events: Sequence[Event],
        *,
        epoch: int | None = None,
        expected_seq: int | None = None,
        claims: Iterable[str] = (),
    ) -> MaybeAwaitable[list[Event]]:
        """Store several events and claims in one act. Raises as append_event, and AlreadyClaimedError.

        claims: one text per call occurrence that the events answer; each can be claimed once in a session.

        The default calls `append_event(session, event)` for one after the other: good for a store that one process
        has for itself. It knows claims and turns of this process only, takes `session` for the end of the log, and
        an error in the middle leaves the events before it stored.
        """
        key, wanted = session.key, tuple(claims)
        self.local_runs.check(key, epoch)
        if expected_seq is not None and expected_seq != session.last_seq:
            raise stale(key, expected_seq, session.last_seq)
        self.local_runs.claim(key, wanted)
        return append_each(self, session, events, undo=lambda: self.local_runs.unclaim(key, wanted))

    def open_run(self, key: SessionKey, run_id: str, *, owner: Owner, lease: float) -> MaybeAwaitable[RunTicket]:
        """Take the session's turn for `lease` seconds; its epoch goes up.

        Raises SessionBusyError while another run's lease is alive; the lease of an owner whose process is gone is
        not. A session that does not exist yet may be opened: the turn is the key's, not the row's.

        The default knows the runs of this process only, and its ticket's `last_seq` is 0: not known.
        """
        return RunTicket(self.local_runs.open(key, run_id, owner), 0)

    def close_run(self, key: SessionKey, run_id: str, epoch: int) -> MaybeAwaitable[None]:
        """Give the turn back. Does nothing when it was lost. An append with this epoch is fenced from now on."""
        self.local_runs.close(key, run_id, epoch)
        return None

    def renew(self, runs: Sequence[OpenRun], *, lease: float) -> MaybeAwaitable[list[StopRequest]]:
        """Prolong the leases of these runs to `lease` seconds from now, and hand out, once, what asks them to stop.

        A lease of which more than two thirds are left may stay as it is. A run that has lost its turn is reported
        by a StopRequest with `lost`.
        """
        return self.local_runs.requests(runs)

    def request_stop(self, key: SessionKey, run_id: str | None, reason: str) -> MaybeAwaitable[bool]:
        """Ask a run (the one that holds the turn, when `run_id` is None) to stop. False when there is none."""
        return self.local_runs.request_stop(key, run_id, reason)

    @property
    def local_runs(self) -> LocalRuns:
        """The turns of this process; what the defaults work with. Not used by a service that is `shared`."""
        found: LocalRuns | None = self.__dict__.get("_local_runs")
        return self.__dict__.setdefault("_local_runs", LocalRuns()) if found is None else found

    def close(self) -> MaybeAwaitable[None]:
        """Free what the service holds. The default holds nothing."""
        return None
