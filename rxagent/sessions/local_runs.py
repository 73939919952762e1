"""LocalRuns: the turns of the sessions of a service that lives in one process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import final

from rxagent.streams.dropped import guarded

from .faults import already_claimed, busy, fenced
from .key import SessionKey
from .turn import OpenRun, Owner, StopRequest

__all__ = ["LocalRuns"]


class _Turn:
    """Who holds a session's turn now."""

    __slots__ = ("epoch", "on_stop", "pid", "run_id", "stop")

    def __init__(self, run_id: str, epoch: int) -> None:
        self.run_id = run_id
        self.epoch = epoch
        self.pid = os.getpid()
        self.stop: str | None = None
        self.on_stop: Callable[[str], object] | None = None


@final
class LocalRuns:
    """Turns in memory. They have no lease: what holds one ends with this process, or gives it back.

    The epochs of all sessions come from one counter: each is higher than every earlier one of its session, and
    nothing is kept of a turn that was given back. A forked child takes over its parent's turns, since the log in its
    memory is no longer the parent's.
    """

    __slots__ = ("_claims", "_epoch", "_lock", "_turns")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[SessionKey, _Turn] = {}
        self._claims: set[tuple[SessionKey, str]] = set()
        self._epoch = 0

    def open(self, key: SessionKey, run_id: str, owner: Owner) -> int:
        """Take the turn; returns its epoch. Raises SessionBusyError while another run of this process holds it."""
        with self._lock:
            turn = self._turns.get(key)
            if turn is not None and turn.run_id != run_id and turn.pid == owner.pid:
                raise busy(key, turn.run_id)
            self._epoch += 1
            self._turns[key] = _Turn(run_id, self._epoch)
            return self._epoch

    def close(self, key: SessionKey, run_id: str, epoch: int) -> None:
        """Give the turn back, unless it was lost."""
        with self._lock:
            if self._holder(key, run_id, epoch) is not None:
                del self._turns[key]

    def check(self, key: SessionKey, epoch: int | None) -> None:
        """Raise FencedError unless the turn of this epoch is open; None is no turn and passes."""
        if epoch is None:
            return
        turn = self._turns.get(key)
        if turn is None or turn.epoch != epoch:
            raise fenced(key, epoch)

    def claim(self, key: SessionKey, claims: Sequence[str]) -> None:
        """Claim all of these or none; raises AlreadyClaimedError when one was claimed before."""
        if not claims:
            return
        with self._lock:
            for claim in claims:
                if (key, claim) in self._claims:
                    raise already_claimed(key, claim)
            self._claims.update((key, claim) for claim in claims)

    def unclaim(self, key: SessionKey, claims: Sequence[str]) -> None:
        """Take claims back whose events could not be stored."""
        with self._lock:
            self._claims.difference_update((key, claim) for claim in claims)

    def requests(self, runs: Sequence[OpenRun]) -> list[StopRequest]:
        """What asks these runs to stop, or has taken their turn; each request is handed out once."""
        found = []
        with self._lock:
            for key, run_id, epoch in runs:
                turn = self._holder(key, run_id, epoch)
                if turn is None:
                    found.append(StopRequest(key, run_id, "superseded", lost=True))
                elif turn.stop is not None:
                    found.append(StopRequest(key, run_id, turn.stop))
                    turn.stop = None
        return found

    def request_stop(self, key: SessionKey, run_id: str | None, reason: str) -> bool:
        """Ask the run that holds the turn to stop; at once when it listens, else at its next `requests`."""
        with self._lock:
            turn = self._turns.get(key)
            if turn is None or (run_id is not None and turn.run_id != run_id):
                return False
            listener = turn.on_stop
            if listener is None and turn.stop is None:
                turn.stop = reason  # the first reason stands
        if listener is not None:
            guarded("stop request", listener, reason)  # outside the lock: it may give the turn back
        return True

    def listen(self, run: OpenRun, on_stop: Callable[[str], object]) -> Callable[[], None]:
        """Have stop requests for this run call `on_stop(reason)`, on the thread that asks; returns what ends that."""
        with self._lock:
            turn = self._holder(*run)
            waiting = None
            if turn is not None:
                turn.on_stop = on_stop
                waiting, turn.stop = turn.stop, None
        if waiting is not None:
            guarded("stop request", on_stop, waiting)

        def end() -> None:
            if turn is not None:
                turn.on_stop = None

        return end

    def _holder(self, key: SessionKey, run_id: str, epoch: int) -> _Turn | None:
        turn = self._turns.get(key)
        return turn if turn is not None and (turn.run_id, turn.epoch) == (run_id, epoch) else None
