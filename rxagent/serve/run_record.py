"""RunRecord: what a server knows of a run, its own or another process's."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from rxagent.sessions import LEASE, Owner, SessionKey, is_gone

__all__ = ["LOST", "RecordState", "RunRecord"]

RecordState: TypeAlias = Literal["waiting", "running", "stopping", "ended", "lost"]

LOST: Final[Mapping[str, Any]] = {"kind": "failed", "reason": "worker_lost"}
"""The outcome of a run whose process has gone: it could not tell another."""


class RunRecord(NamedTuple):
    """A run that a server started. Times are seconds since 1970; outcome: its JSON, once the run has ended.

    invocation_id: of the events; another one than the run's id when it resumes an earlier run's invocation. first_seq,
    last_seq: the numbers of its first and last stored event, as far as they matter to tell it from other runs. seen_at:
    the last sign of life of its process, for those who cannot look at that. name: the id that its client has given it;
    empty without one, and not unique.
    """

    run_id: str
    key: SessionKey
    owner: Owner
    started_at: float
    ended_at: float | None = None
    outcome: Mapping[str, Any] | None = None
    invocation_id: str = ""
    first_seq: int = 0
    last_seq: int | None = None
    seen_at: float = math.inf
    name: str = ""

    @property
    def state(self) -> RecordState:
        """As another process sees it: running, ended, or lost."""
        if self.ended_at is not None:
            return "ended"
        is_lost = is_gone(self.owner)
        if is_lost is None:  # in another container, or before the machine started anew
            is_lost = time.time() > self.seen_at + LEASE
        return "lost" if is_lost else "running"

    @property
    def is_over(self) -> bool:
        """True when nothing more comes of it."""
        return self.state in ("ended", "lost")

    def as_json(self, state: RecordState | None = None) -> dict[str, Any]:
        """For a client. state: what its own process knows better."""
        state = state or self.state
        outcome = LOST if state == "lost" else self.outcome
        fields: dict[str, Any] = {
            "runId": self.run_id,
            "invocationId": self.invocation_id,
            "appName": self.key.app_name,
            "userId": self.key.user_id,
            "sessionId": self.key.session_id,
            "state": state,
            "startedAt": self.started_at,
            "endedAt": self.ended_at,
            "outcome": None if outcome is None else dict(outcome),
        }
        return {name: value for name, value in fields.items() if value is not None}
