"""SoftStop: where the model-tool loops of a run come to rest."""

from __future__ import annotations

import pytest

from rxagent.invocation.abort_signal import StopDepth
from rxagent.invocation.soft_stop import SoftStop
from rxagent.streams import CancelScope, Stopped


class Told:
    """Keeps what it was told: reasons, and whether a loop was held."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.held: list[bool] = []

    def __call__(self, reason: str, is_held: bool) -> None:
        self.reasons.append(reason)
        self.held.append(is_held)


@pytest.mark.parametrize("after", ["turn", "tool"])
def test_without_a_loop_it_rests_at_once(after: StopDepth) -> None:
    """When no loop is at work the run is stopped by whoever asks, with the reason."""
    told = Told()
    SoftStop(told).ask("enough", after)
    assert (told.reasons, told.held) == (["enough"], [False])


def test_the_last_loop_that_rests_stops_the_run() -> None:
    """Of two loops one ends and one rests before its next step: only then, and once, the run is told."""
    told, scope = Told(), CancelScope()

    def stopped(reason: str, is_held: bool) -> None:
        told(reason, is_held)
        scope.cancel("stopped")

    stop = SoftStop(stopped)
    with stop.loop() as loop:
        with stop.loop() as other:
            other.may_step(scope)
            stop.ask("enough", "turn")
        assert told.reasons == []
        with pytest.raises(Stopped):
            loop.may_step(scope)
    assert (told.reasons, told.held) == (["enough"], [True])


def test_a_loop_that_has_rested_is_counted_once() -> None:
    """One that is stopped while it rests leaves the others at work: the run is told when they rest, too, and that one
    of them had wanted to go on."""
    told, gone = Told(), CancelScope()
    gone.cancel("left alone")
    stop = SoftStop(told)
    with stop.loop():
        with stop.loop() as loop:
            stop.ask("enough", "turn")
            with pytest.raises(Stopped):
                loop.may_step(gone)
        assert told.reasons == []
    assert (told.reasons, told.held) == (["enough"], [True])


def test_a_loop_that_ends_by_itself_rests_too() -> None:
    """The last loop that ends after the run was asked to stop tells the run; without being asked it tells nothing."""
    told = Told()
    stop = SoftStop(told)
    with stop.loop():
        pass
    assert told.reasons == []
    with stop.loop():
        stop.ask("enough", "turn")
    assert (told.reasons, told.held) == (["enough"], [False])


def test_only_a_deeper_stop_counts() -> None:
    """A "tool" counts after a "turn", a "turn" after a "tool" does not; the first reason stays."""
    told, may_start = Told(), list[bool]()
    stop = SoftStop(told)
    asked: list[tuple[str, StopDepth]] = [("first", "turn"), ("second", "tool"), ("third", "turn")]
    with stop.loop():
        for reason, after in asked:
            stop.ask(reason, after)
            may_start.append(stop.may_start())
    assert (may_start, told.reasons) == ([True, False, False], ["first"])


def test_which_model_calls_are_cancelled() -> None:
    """A "tool" cancels the model calls that run, and those that begin later, and not the scope around them."""
    stop, scope = SoftStop(Told()), CancelScope()
    with stop.loop(), stop.model_call(scope) as before:
        stop.ask("enough", "turn")
        assert not before.is_cancelled
        stop.ask("enough", "tool")
        assert (before.is_cancelled, before.reason) == (True, "enough")
        with stop.model_call(scope) as later:
            assert (later.is_cancelled, later.reason) == (True, "enough")
    assert not scope.is_cancelled


def test_a_model_call_that_is_over_is_left_alone() -> None:
    """One that has ended hears nothing of a later stop."""
    stop, scope = SoftStop(Told()), CancelScope()
    with stop.loop():
        with stop.model_call(scope) as own:
            pass
        stop.ask("enough", "tool")
        assert not own.is_cancelled


def test_a_run_that_is_over_is_told_nothing() -> None:
    """After `part` nobody is told."""
    told = Told()
    stop = SoftStop(told)
    stop.part()
    stop.ask("late", "turn")
    assert told.reasons == []
