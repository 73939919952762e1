"""Cases of turns: one run at a time, fences, stop requests, leases."""

from __future__ import annotations

from pathlib import Path

import pytest

from rxagent.errors import FencedError, SessionBusyError
from rxagent.sessions import BaseSessionService, OpenRun, RunTicket, SessionKey, StopRequest, current_owner

from .base import APP, KEY, USER, SessionCases, said, texts

__all__ = ["TurnCases"]

_LEASE = 60.0


class TurnCases(SessionCases):
    """Who may write to a session now."""

    def open(self, service: BaseSessionService, run_id: str, key: SessionKey = KEY, lease: float = _LEASE) -> RunTicket:
        """A turn of this process."""
        return self.done(service.open_run(key, run_id, owner=current_owner("test"), lease=lease))  # type: ignore[no-any-return]

    def renew(self, service: BaseSessionService, *runs: OpenRun, lease: float = _LEASE) -> list[StopRequest]:
        """What renewing says."""
        return self.done(service.renew(runs, lease=lease))  # type: ignore[no-any-return]

    def test_one_run_at_a_time(self, service: BaseSessionService) -> None:
        """While a run has the turn another gets SessionBusyError; other sessions are free."""
        self.create(service)
        self.open(service, "r1")
        with pytest.raises(SessionBusyError, match="r1"):
            self.open(service, "r2")
        self.open(service, "r3", SessionKey(APP, USER, "s2"))
        self.open(service, "r4", SessionKey(APP, "you", "s1"))

    def test_a_turn_given_back_is_free(self, service: BaseSessionService) -> None:
        """After close_run the next run gets the turn, with a higher epoch and the log's end."""
        session = self.create(service)
        first = self.open(service, "r1")
        self.append(service, session, said("a"), epoch=first.epoch, expected_seq=0)
        self.done(service.close_run(KEY, "r1", first.epoch))
        second = self.open(service, "r2")
        assert second.epoch > first.epoch
        assert (first.last_seq, second.last_seq) == (0, 1)

    def test_the_turn_belongs_to_the_key(self, service: BaseSessionService) -> None:
        """A turn can be taken before its session exists, and it outlives the session's end."""
        ticket = self.open(service, "r1")
        assert ticket.last_seq == 0
        with pytest.raises(SessionBusyError):
            self.open(service, "r2")
        session = self.create(service)
        self.append(service, session, said("a"), epoch=ticket.epoch)
        self.done(service.delete_session(APP, USER, "s1"))
        with pytest.raises(SessionBusyError):
            self.open(service, "r2")
        self.create(service)
        self.append(service, session, said("b"), epoch=ticket.epoch)
        assert texts(self.get(service)) == ["b"]

    def test_epochs_never_come_again(self, service: BaseSessionService) -> None:
        """Each turn's epoch is higher than all before it, also after the session was deleted."""
        epochs = []
        for run_id in ("r1", "r2", "r3"):
            epochs.append(self.open(service, run_id).epoch)
            self.create(service)
            self.done(service.close_run(KEY, run_id, epochs[-1]))
            self.done(service.delete_session(APP, USER, "s1"))
        assert epochs == sorted(set(epochs))

    def test_a_run_may_ask_for_its_turn_again(self, service: BaseSessionService) -> None:
        """Opening again under the same run id works, and fences the epoch before."""
        session = self.create(service)
        first, second = self.open(service, "r1"), self.open(service, "r1")
        assert second.epoch > first.epoch
        with pytest.raises(FencedError):
            self.append(service, session, said("a"), epoch=first.epoch)
        self.append(service, session, said("b"), epoch=second.epoch)

    def test_work_that_ends_late_writes_nothing(self, service: BaseSessionService) -> None:
        """After close_run an append with that epoch is fenced, for single events, batches and claims."""
        session = self.create(service)
        ticket = self.open(service, "r1")
        self.append(service, session, said("a"), epoch=ticket.epoch)
        self.done(service.close_run(KEY, "r1", ticket.epoch))
        with pytest.raises(FencedError):
            self.append(service, session, said("b", delta={"k": 1}), epoch=ticket.epoch, claims=["c"])
        self.open(service, "r2")
        with pytest.raises(FencedError):
            self.done(service.append_event(session, said("b"), epoch=ticket.epoch))
        stored = self.get(service)
        assert (texts(stored), stored.state, texts(session)) == (["a"], {}, ["a"])
        self.append(service, session, said("c"), claims=["c"])

    def test_a_user_may_append_without_a_turn(self, service: BaseSessionService) -> None:
        """Without an epoch an append goes to the end, whoever has the turn."""
        session = self.create(service)
        ticket = self.open(service, "r1")
        self.append(service, self.get(service), said("note"))
        assert [event.seq for event in self.append(service, session, said("a"), epoch=ticket.epoch)] == [2]

    def test_giving_back_what_was_lost_does_nothing(self, service: BaseSessionService) -> None:
        """close_run with an old epoch, or of an unknown turn, leaves the present one."""
        first = self.open(service, "r1")
        self.open(service, "r1")
        self.done(service.close_run(KEY, "r1", first.epoch))
        self.done(service.close_run(SessionKey(APP, USER, "nobody"), "r1", 1))
        with pytest.raises(SessionBusyError):
            self.open(service, "r2")

    def test_a_stop_request_reaches_its_run_once(self, service: BaseSessionService) -> None:
        """What asks a run to stop is handed out by its next renewal, the first reason, and only once."""
        run = OpenRun(KEY, "r1", self.open(service, "r1").epoch)
        other = SessionKey(APP, USER, "s2")
        second = OpenRun(other, "r2", self.open(service, "r2", other).epoch)
        assert self.done(service.request_stop(KEY, "r1", "user_stop")) is True
        assert self.done(service.request_stop(KEY, None, "later")) is True
        assert self.renew(service, run, second) == [StopRequest(KEY, "r1", "user_stop")]
        assert self.renew(service, run, second) == []
        assert self.done(service.request_stop(KEY, None, "again")) is True
        assert self.renew(service, run) == [StopRequest(KEY, "r1", "again")]

    def test_a_stop_request_without_a_run(self, service: BaseSessionService) -> None:
        """Asking when nobody, or another run, has the turn is False, and no later run is stopped by it."""
        assert self.done(service.request_stop(KEY, None, "x")) is False
        ticket = self.open(service, "r1")
        assert self.done(service.request_stop(KEY, "r0", "x")) is False
        self.done(service.request_stop(KEY, "r1", "x"))
        self.done(service.close_run(KEY, "r1", ticket.epoch))
        assert self.done(service.request_stop(KEY, "r1", "x")) is False
        assert self.renew(service, OpenRun(KEY, "r2", self.open(service, "r2").epoch)) == []

    def test_a_run_learns_that_its_turn_is_lost(self, service: BaseSessionService) -> None:
        """Renewing a turn that was given back or taken over says so."""
        run = OpenRun(KEY, "r1", self.open(service, "r1").epoch)
        assert self.renew(service, run) == []
        self.done(service.close_run(*run))
        assert [(request.run_id, request.lost) for request in self.renew(service, run)] == [("r1", True)]

    def test_a_lease_runs_out(self, service: BaseSessionService) -> None:
        """A shared store gives a turn whose lease is over to the next run, and fences the old one."""
        self._needs_leases(service)
        session = self.create(service)
        first = self.open(service, "r1", lease=0.0)
        second = self.open(service, "r2")
        assert second.epoch == first.epoch + 1
        with pytest.raises(FencedError):
            self.append(service, session, said("late"), epoch=first.epoch)
        self.append(service, session, said("on time"), epoch=second.epoch)

    def test_renewing_prolongs(self, service: BaseSessionService) -> None:
        """A lease that ran out and was not taken over is the run's again when it renews."""
        self._needs_leases(service)
        run = OpenRun(KEY, "r1", self.open(service, "r1", lease=0.0).epoch)
        assert self.renew(service, run) == []
        with pytest.raises(SessionBusyError):
            self.open(service, "r2")

    def test_the_turn_of_a_process_that_is_gone(self, service: BaseSessionService) -> None:
        """The turn of an owner whose process has ended is free at once; the epoch goes up all the same."""
        self._needs_leases(service)
        me = current_owner("test")
        if not me.boot_id:
            pytest.skip("this system does not tell whether a process is gone")
        gone = me._replace(started=me.started - 1)  # the same pid, but an earlier process
        first: RunTicket = self.done(service.open_run(KEY, "r1", owner=gone, lease=_LEASE))
        assert self.done(service.request_stop(KEY, None, "x")) is False
        assert self.open(service, "r2").epoch == first.epoch + 1

    def test_an_owner_of_another_machine_is_believed(self, service: BaseSessionService) -> None:
        """A process that cannot be judged from here keeps its turn until the lease is over."""
        self._needs_leases(service)
        me = current_owner("test")._replace(pid=2**22 + 1)  # no such process here
        for name, owner in {"s1": me._replace(boot_id="other"), "s2": me._replace(pid_namespace="pid:[1]")}.items():
            key = SessionKey(APP, USER, name)
            self.done(service.open_run(key, "r1", owner=owner, lease=_LEASE))
            with pytest.raises(SessionBusyError):
                self.open(service, "r2", key)

    def test_two_services_on_one_store(self, service: BaseSessionService, tmp_path: Path) -> None:
        """Two instances of a shared service see the same log, turns, claims and stop requests."""
        self._needs_leases(service)
        other = self.make_service(tmp_path)
        try:
            session = self.create(service)
            assert texts(self.get(other)) == []
            run = OpenRun(KEY, "r1", self.open(service, "r1").epoch)
            with pytest.raises(SessionBusyError):
                self.open(other, "r2")
            self.append(service, session, said("a", delta={"app:k": 1}), epoch=run.epoch)
            assert texts(self.get(other)) == ["a"]
            assert self.get(other).state == {"app:k": 1}
            assert self.done(other.request_stop(KEY, None, "from afar")) is True
            assert self.renew(service, run) == [StopRequest(KEY, "r1", "from afar")]
            self.done(service.close_run(*run))
            self.append(other, self.get(other), said("b"), epoch=self.open(other, "r2").epoch)
            assert texts(self.get(service)) == ["a", "b"]
        finally:
            self.done(other.close())

    def _needs_leases(self, service: BaseSessionService) -> None:
        if not service.shared:
            pytest.skip("the service is not shared: its turns have no leases")
