"""The session service: what a store must do so that runs can append, be stopped, and follow each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from rxagent.events import Event

from .session import Session

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


class SessionKey(NamedTuple):
    """What names a session."""

    app_name: str
    user_id: str
    session_id: str


class GetSessionConfig(NamedTuple):
    """Which events `get_session` loads: the last N; from a time on (ms, inclusive); behind a sequence number."""

    num_recent_events: int | None = None
    after_timestamp: int | None = None
    after_seq: int | None = None


class Owner(NamedTuple):
    """Who holds a turn: a service instance in a process.

    Two owners of the same boot and pid namespace can judge whether the other's process is alive; others wait for
    the lease. `started`: the process's start time in clock ticks since boot, so that a reused pid is told apart.
    """

    instance: str
    boot_id: str
    pid_namespace: str
    pid: int
    started: int


class RunTicket(NamedTuple):
    """A turn: the epoch fences the turns before it; `last_seq` is where the log ended when it was opened."""

    epoch: int
    last_seq: int


class OpenRun(NamedTuple):
    """A turn that is to be kept alive."""

    key: SessionKey
    run_id: str
    epoch: int


class StopRequest(NamedTuple):
    """Somebody, perhaps in another process, wants a run to stop."""

    key: SessionKey
    run_id: str
    reason: str


class BaseSessionService(ABC):
    """Sessions, each an append-only log of events and a state, ordered by sequence number (from 1).

    Arguments are ADK's. Every method may be called from any thread; what a method promises to write is written
    entirely or not at all. `expected_seq` is the last sequence number the caller knows.
    """

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
        FencedError when `epoch` is not the session's, SessionNotFoundError, or another SessionError; then nothing
        was written.
        """

    @abstractmethod
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
        """

    @abstractmethod
    def open_run(self, key: SessionKey, run_id: str, *, owner: Owner, lease: float) -> MaybeAwaitable[RunTicket]:
        """Take the session's turn for `lease` seconds; its epoch goes up by one.

        Raises SessionBusyError while another run's lease is alive; the lease of an owner whose process is gone is
        not. A session that does not exist yet may be opened: the turn is the key's, not the row's.
        """

    @abstractmethod
    def close_run(self, key: SessionKey, run_id: str, epoch: int) -> MaybeAwaitable[None]:
        """Give the turn back. Does nothing when it was lost."""

    @abstractmethod
    def renew(self, runs: Sequence[OpenRun], *, lease: float) -> MaybeAwaitable[list[StopRequest]]:
        """Prolong the leases of these runs by `lease` seconds from now, and hand out what asks them to stop."""

    @abstractmethod
    def request_stop(self, key: SessionKey, run_id: str | None, reason: str) -> MaybeAwaitable[bool]:
        """Ask a run (the one that holds the turn, when `run_id` is None) to stop. False when there is none."""

    def close(self) -> MaybeAwaitable[None]:
        """Free what the service holds. The default holds nothing."""
        return None
