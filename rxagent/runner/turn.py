"""StoreTurn: the session's turn among all processes, as a lease in the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from rxagent.errors import SessionBusyError
from rxagent.sessions import LEASE, BaseSessionService, Keeper, OpenRun, SessionKey, current_owner, keeper_of
from rxagent.streams import CancelScope, settle

__all__ = ["StoreTurn"]


@final
class StoreTurn:
    """Taken before the session is read, kept alive by the service's keeper, given back at the end.

    epoch: fences every earlier run; None before it was taken.
    """

    __slots__ = ("_key", "_release", "_run_id", "_service", "epoch")

    def __init__(self, service: BaseSessionService, key: SessionKey, run_id: str) -> None:
        self._service = service
        self._key = key
        self._run_id = run_id
        self._release: Callable[[], object] | None = None
        self.epoch: int | None = None

    @property
    def _keeper(self) -> Keeper:
        return keeper_of(self._service, lambda value: settle(value, CancelScope()))

    def take(self, scope: CancelScope, on_stop: Callable[[str], object], on_lost: Callable[[], object]) -> bool:
        """Take it; False while another process has it. on_stop(reason) and on_lost() come later, from any thread."""
        service = self._service
        try:
            ticket = settle(
                service.open_run(self._key, self._run_id, owner=current_owner(_instance(service)), lease=LEASE), scope
            )
        except SessionBusyError:
            return False
        self.epoch = ticket.epoch
        self._release = self._keeper.hold(OpenRun(self._key, self._run_id, ticket.epoch), on_stop, on_lost)
        return True

    def when_free(self, attempt: Callable[[], bool]) -> Callable[[], object]:
        """Have `attempt` called again and again until it is True. Returns what takes it back."""
        return self._keeper.wait(attempt)

    def give_back(self) -> None:
        """Free the turn for others. Does nothing when it was not taken."""
        release, self._release = self._release, None
        if release is not None:
            release()
        if self.epoch is not None:
            settle(self._service.close_run(self._key, self._run_id, self.epoch), CancelScope())


def _instance(service: BaseSessionService) -> str:
    return f"{id(service):x}"
