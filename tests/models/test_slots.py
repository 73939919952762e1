"""Slots: fair, and left by a cancel."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest

from rxagent.models.slots import Slots
from rxagent.streams.scope import CancelScope, Stopped

_LIMIT = 5.0  # seconds after which a wait in these tests has failed


class _Holder:
    """A thread that takes a slot, says so, and holds it until it is told to give it back."""

    def __init__(self, slots: Slots, name: str, log: SimpleQueue[str]) -> None:
        self.scope = CancelScope()
        self.give_back = threading.Event()
        self._slots, self._name, self._log = slots, name, log
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def _work(self) -> None:
        try:
            with self._slots.one(self.scope):
                self._log.put(self._name)
                self.give_back.wait(_LIMIT)
        except Stopped:
            self._log.put(f"{self._name} stopped")

    def end(self) -> None:
        self.give_back.set()
        self.thread.join(_LIMIT)


def _wait_for_waiters(slots: Slots, count: int) -> None:
    tick = threading.Event()
    for _ in range(int(_LIMIT / 0.001)):
        if slots.waiting == count:
            return
        tick.wait(0.001)
    pytest.fail(f"{slots.waiting} wait, not {count}")


def test_slots_are_given_in_order_of_arrival() -> None:
    """Who waits gets a slot in order of arrival."""
    slots, log = Slots(1), SimpleQueue[str]()
    holders = []
    for number, name in enumerate("abcd"):
        holders.append(_Holder(slots, name, log))
        _wait_for_waiters(slots, number)
    for holder in holders:
        holder.end()
    assert [log.get(timeout=_LIMIT) for _ in holders] == ["a", "b", "c", "d"]


def test_as_many_as_there_are_slots_hold_one_at_once() -> None:
    """With two slots two are in at once, and a third one waits."""
    slots, log = Slots(2), SimpleQueue[str]()
    first, second = _Holder(slots, "a", log), _Holder(slots, "b", log)
    assert {log.get(timeout=_LIMIT), log.get(timeout=_LIMIT)} == {"a", "b"}
    third = _Holder(slots, "c", log)
    _wait_for_waiters(slots, 1)
    assert log.empty()
    for holder in (first, second, third):
        holder.end()
    assert log.get(timeout=_LIMIT) == "c"


def test_a_cancelled_wait_leaves_the_queue_and_takes_nobodys_place() -> None:
    """A cancel leaves the wait at once; those behind it lose nothing."""
    slots, log = Slots(1), SimpleQueue[str]()
    first = _Holder(slots, "a", log)
    assert log.get(timeout=_LIMIT) == "a"
    second = _Holder(slots, "b", log)
    _wait_for_waiters(slots, 1)
    third = _Holder(slots, "c", log)
    _wait_for_waiters(slots, 2)
    second.scope.cancel()
    assert log.get(timeout=_LIMIT) == "b stopped"
    first.end()
    assert log.get(timeout=_LIMIT) == "c"
    third.end()
    second.end()
    assert slots.waiting == 0


def test_a_slot_that_meets_a_cancel_is_not_lost() -> None:
    """A wait that is cancelled while a slot is handed to it gives the slot on: 500 races."""
    slots, log = Slots(1), SimpleQueue[str]()
    for _ in range(500):
        first = _Holder(slots, "a", log)
        assert log.get(timeout=_LIMIT) == "a"
        second = _Holder(slots, "b", log)
        _wait_for_waiters(slots, 1)
        canceller = threading.Thread(target=second.scope.cancel)
        canceller.start()
        first.give_back.set()
        second.give_back.set()
        assert log.get(timeout=_LIMIT) in ("b", "b stopped")
        for thread in (canceller, first.thread, second.thread):
            thread.join(_LIMIT)
    with slots.one(CancelScope()):
        assert slots.waiting == 0


def test_a_cancelled_scope_gets_no_slot_by_waiting() -> None:
    """A scope that is cancelled already does not wait."""
    slots, scope = Slots(1), CancelScope()
    scope.cancel()
    with slots.one(CancelScope()), pytest.raises(Stopped), slots.one(scope):
        pytest.fail("there was no slot")
