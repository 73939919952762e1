"""One flag, one reason, callbacks."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import gc
import threading
import weakref
from queue import SimpleQueue

import pytest

from rxagent.streams import CancelScope, Stopped
from rxagent.streams.workers import workers

from .acting import LIMIT, Boom, dropped_errors, fast_switches, took
from .repertoire import RACES


def test_first_reason_counts() -> None:
    """The first reason stays; a later cancel changes nothing."""
    scope = CancelScope()
    assert (scope.is_cancelled, scope.reason, repr(scope)) == (False, None, "<CancelScope open>")
    scope.check()
    scope.cancel("first")
    scope.cancel("second")
    assert (scope.is_cancelled, scope.reason, repr(scope)) == (True, "first", "<CancelScope cancelled: first>")
    with pytest.raises(Stopped, match="first") as caught:
        scope.check()
    assert caught.value.scope is scope


def test_callbacks_run_once_newest_first() -> None:
    """Callbacks run once each, the newest first; one that was taken back does not; a late one runs at once."""
    scope, ran = CancelScope(), []
    for name in "abc":
        scope.on_cancel(lambda name=name: ran.append(name))  # type: ignore[misc]
    scope.on_cancel(lambda: ran.append("back"))()
    scope.cancel()
    scope.cancel()
    scope.on_cancel(lambda: ran.append("late"))()
    assert ran == ["c", "b", "a", "late"]


def test_raising_callback() -> None:
    """A callback that raises is dropped; the others run."""
    scope, ran = CancelScope(), []

    def bad() -> None:
        raise Boom("callback")

    with dropped_errors() as dropped:
        scope.on_cancel(lambda: ran.append("a"))
        scope.on_cancel(bad)
        scope.on_cancel(lambda: ran.append("b"))
        scope.cancel()
        assert took(dropped)[1] == "cancel callback"
    assert ran == ["b", "a"]


def test_interrupted_cancel() -> None:
    """A KeyboardInterrupt in a callback leaves the cancel, but not before the others have run."""
    scope, ran = CancelScope(), []

    def interrupted() -> None:
        raise KeyboardInterrupt

    scope.on_cancel(lambda: ran.append("a"))
    scope.on_cancel(interrupted)
    with pytest.raises(KeyboardInterrupt):
        scope.cancel()
    assert ran == ["a"]


def test_callbacks_inside_callbacks() -> None:
    """A callback may cancel, register and take back."""
    scope, ran = CancelScope(), []

    def outer() -> None:
        scope.cancel("again")
        scope.on_cancel(lambda: ran.append("inner"))

    scope.on_cancel(lambda: ran.append("a"))
    scope.on_cancel(outer)
    scope.cancel("first")
    assert (ran, scope.reason) == (["a", "inner"], "first")


def test_what_has_arrived_does_not_outrun_a_cancel() -> None:
    """An item that is there is taken without a wait; once the scope is cancelled, it is not taken any more."""
    scope, inbox = CancelScope(), SimpleQueue[str]()
    inbox.put("a")
    inbox.put("b")
    assert scope.wait(inbox) == "a"
    scope.cancel()
    with pytest.raises(Stopped):
        scope.wait(inbox)
    assert inbox.get_nowait() == "b"


def test_children() -> None:
    """A child is cancelled with its parent, for the same reason; its own cancel does not reach the parent."""
    parent = CancelScope()
    child, alone, detached = parent.child(), parent.child(), parent.child()
    alone.cancel("alone")
    detached.detach()
    detached.detach()
    assert not parent.is_cancelled
    parent.cancel("all")
    assert (child.reason, alone.reason, detached.reason) == ("all", "alone", None)
    assert parent.child().reason == "all"


def test_children_are_cancelled_when_the_first_callback_runs() -> None:
    """No callback and no waiter finds a child that is not cancelled yet, however deep."""
    parent = CancelScope()
    child = parent.child()
    grandchild, left = child.child(), child.child()
    found: list[str | None] = []

    def look() -> None:
        found.extend((child.reason, grandchild.reason))
        left.detach()
        grandchild.cancel("own")

    parent.on_cancel(look)
    parent.cancel("all")
    assert found == ["all", "all"]
    assert (grandchild.reason, left.reason) == ("all", "all")


def test_detached_scopes_do_not_hold_each_other() -> None:
    """After detach neither scope keeps the other alive."""

    class Marker:
        pass

    parent = CancelScope()
    child = parent.child()
    marker = Marker()
    child.on_cancel(lambda marker=marker: None)  # type: ignore[misc]
    of_child = weakref.ref(marker)
    child.detach()
    assert len(parent._callbacks) == 0
    parent_marker = Marker()
    parent.on_cancel(lambda marker=parent_marker: None)  # type: ignore[misc]
    of_parent = weakref.ref(parent_marker)
    del parent, marker, parent_marker
    gc.collect()
    assert of_parent() is None
    assert of_child() is not None
    child.cancel()


def test_wait() -> None:
    """A wait gives the item, None when its time is over, and Stopped after a cancel; it leaves no callback."""
    scope, inbox = CancelScope(), SimpleQueue[str]()
    inbox.put("a")
    assert scope.wait(inbox) == "a"
    assert scope.wait(inbox, 0.01) is None
    scope.sleep(0.01)
    assert len(scope._callbacks) == 0
    workers.spawn(lambda: scope.cancel("test"))
    with pytest.raises(Stopped):
        scope.wait(inbox)
    with pytest.raises(Stopped):
        scope.sleep(LIMIT)


def test_a_wait_leaves_nothing_in_the_inbox_of_a_live_scope() -> None:
    """As long as a scope is not cancelled, nothing but what was put comes out of an inbox."""
    inbox = SimpleQueue[str]()
    with fast_switches():
        for number in range(RACES):
            scope = CancelScope()
            workers.spawn(lambda number=number: inbox.put(str(number)))  # type: ignore[misc]
            assert scope.wait(inbox) == str(number)
            scope.cancel()
        assert inbox.empty()


def test_races_of_a_wait_with_a_cancel() -> None:
    """Of 500 races of a cancel with an item none hangs, and a cancelled wait always says so."""
    with fast_switches():
        for _ in range(RACES):
            scope, inbox = CancelScope(), SimpleQueue[str]()
            ended = threading.Event()
            workers.spawn(lambda inbox=inbox, scope=scope, ended=ended: (inbox.put("a"), scope.cancel(), ended.set()))  # type: ignore[misc]
            try:
                assert scope.wait(inbox) == "a"
            except Stopped:
                assert scope.is_cancelled
            assert ended.wait(LIMIT)


def test_races_of_registering_with_a_cancel() -> None:
    """Of 500 callbacks registered while a cancel is under way each runs exactly once."""
    with fast_switches():
        for _ in range(RACES):
            scope, ended = CancelScope(), threading.Event()
            ran: list[int] = []
            workers.spawn(lambda scope=scope, ended=ended: (scope.cancel(), ended.set()))  # type: ignore[misc]
            for number in range(5):
                scope.on_cancel(lambda number=number, ran=ran: ran.append(number))  # type: ignore[misc]
            assert ended.wait(LIMIT)
            assert sorted(ran) == [0, 1, 2, 3, 4]
