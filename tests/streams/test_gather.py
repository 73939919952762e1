"""Several Singles under way at once."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from rxagent.streams import CancelScope, Gather, Single, SingleEmitter, Stopped
from rxagent.streams.workers import workers

from .acting import Boom, fast_switches
from .repertoire import RACES
from .test_single import Created


def test_results_in_order_of_adding() -> None:
    """All values come in the order in which the Singles were added, whatever ended first."""
    held = [Created() for _ in range(3)]
    with Gather[Any](CancelScope()) as gather:
        assert [gather.add(one.single) for one in held] == [0, 1, 2]
        for number in (2, 0, 1):
            held[number].finish(number)
        assert gather.results() == [0, 1, 2]
        assert not gather.pending
        assert len(gather._scope._callbacks) == 0


def test_nothing_added() -> None:
    """Nothing gives an empty list."""
    with Gather[Any](CancelScope()) as gather:
        assert (gather.results(), gather.pending, gather.has_arrived) == ([], False, False)


def test_take_in_order_of_ending() -> None:
    """`take` gives the ends as they come, errors too."""
    held, error = [Created(), Created()], Boom()
    with Gather[Any](CancelScope()) as gather:
        for one in held:
            gather.add(one.single)
        arrived = [gather.has_arrived]
        held[1].fail(error)
        arrived.append(gather.has_arrived)
        assert arrived == [False, True]
        held[0].finish("v")
        assert [gather.take(), gather.take()] == [(1, None, error), (0, "v", None)]


def test_first_error() -> None:
    """`results` raises the first error, and leaving disposes the others."""
    held = [Created(), Created()]
    with Gather[Any](CancelScope()) as gather:
        for one in held:
            gather.add(one.single)
        held[1].fail(Boom())
        with pytest.raises(Boom):
            gather.results()
    assert [one.cancelled.is_set() for one in held] == [True, False]


def test_leaving_disposes() -> None:
    """Leaving the block disposes what has not ended, and nothing else; it can then add nothing."""
    held, scope = [Created(), Created()], CancelScope()
    with Gather[Any](scope) as gather:
        for one in held:
            gather.add(one.single)
        held[0].finish("v")
    gather.close()
    assert [one.cancelled.is_set() for one in held] == [False, True]
    assert (scope.is_cancelled, len(scope._callbacks)) == (False, 0)
    with pytest.raises(Stopped):
        gather.add(Created().single)


def test_stop() -> None:
    """A cancel of the scope leaves the wait by Stopped, and disposes all, each exactly once."""
    held, scope = [Created() for _ in range(3)], CancelScope()
    counts: list[int] = []
    with Gather[Any](scope) as gather:
        for number, one in enumerate(held):
            gather.add(one.single)
            one.emitter.set_cancellable(lambda number=number: counts.append(number))  # type: ignore[misc]
        workers.spawn(lambda: scope.cancel("test"))
        with pytest.raises(Stopped):
            gather.take()
    assert sorted(counts) == [0, 1, 2]


def test_nothing_of_the_adder_runs_elsewhere() -> None:
    """Values that other threads give are taken on the waiting thread."""
    with Gather[Any](CancelScope()) as gather:
        gather.add(Single(lambda emitter: workers.spawn(lambda: emitter.on_success(threading.get_ident()))))
        (thread,) = gather.results()
    assert thread != threading.get_ident()


def test_singles_that_end_at_once() -> None:
    """A Single that ends on the subscribing thread has arrived when it is added."""
    with Gather[Any](CancelScope()) as gather:
        gather.add(Single.just("v"))
        assert gather.has_arrived
        assert gather.results() == ["v"]


def test_races() -> None:
    """Of 500 races of a stop with the last value each gives the values or Stopped."""
    with fast_switches():
        for _ in range(RACES):
            scope, one = CancelScope(), Created()
            try:
                with Gather[Any](scope) as gather:
                    gather.add(one.single)
                    workers.spawn(lambda one=one: one.finish("v"))  # type: ignore[misc]
                    workers.spawn(lambda scope=scope: scope.cancel("test"))  # type: ignore[misc]
                    assert gather.results() == ["v"]
            except Stopped:
                assert scope.is_cancelled


def test_what_is_told_runs_where_the_adder_waits() -> None:
    """Jobs of other threads run on the adder's thread while it waits, in their order, and before later ends."""
    gather, emitters, order = Gather[int](CancelScope()), list[SingleEmitter[int]](), list[object]()
    gather.add(Single.create(emitters.append))

    def tell() -> None:
        for number in range(3):
            assert gather.tell(lambda number=number: order.append((number, threading.get_ident())))  # type: ignore[misc]
        emitters[0].on_success(7)

    thread = threading.Thread(target=tell)
    thread.start()
    assert gather.take() == (0, 7, None)
    thread.join()
    assert order == [(number, threading.get_ident()) for number in range(3)]


def test_too_much_is_not_taken() -> None:
    """When nobody takes them up, only so many jobs wait; looking whether an end has arrived takes them up."""
    gather, told = Gather[int](CancelScope()), list[int]()
    gather.add(Single.create(lambda emitter: None))
    taken = [gather.tell(lambda: told.append(1)) for _ in range(100)]
    assert taken == [True] * 64 + [False] * 36
    assert not gather.has_arrived
    assert len(told) == 64
    assert gather.tell(lambda: None)


def test_what_has_arrived_is_not_taken_after_a_stop() -> None:
    """An end that has arrived before the stop, and was looked at, is not taken any more."""
    scope = CancelScope()
    gather = Gather[int](scope)
    gather.add(Single.just(1))
    assert gather.has_arrived
    scope.cancel()
    with pytest.raises(Stopped):
        gather.take()
