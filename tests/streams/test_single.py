"""An Observable of exactly one value."""

from __future__ import annotations

from typing import Any

import pytest
import reactivex
from reactivex import Observable

from rxagent.errors import UsageError
from rxagent.streams import Blocking, CancelScope, Single, SingleEmitter

from .acting import Boom, Play, Seen, dropped_errors, took
from .repertoire import Held, SingleRepertoire


class Created(Held):
    """Built with an emitter."""

    def __init__(self) -> None:
        super().__init__()
        self.single = Single(self.start)

    def start(self, emitter: SingleEmitter[Any]) -> None:
        self.emitter = emitter
        emitter.set_cancellable(self.cancelled.set)
        self.started.put(True)

    def finish(self, value: object) -> None:
        self.emitter.on_success(value)

    def fail(self, error: Exception) -> None:
        self.emitter.on_error(error)


class Mapped(Created):
    """Changed by a function that changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.single = self.single.map(lambda value: value)


class Of(Created):
    """The one value of an Observable."""

    def __init__(self) -> None:
        super().__init__()
        self.single = Single.of(reactivex.merge(self.single))


class TestCreate(SingleRepertoire):
    def make(self) -> Held:
        return Created()


class TestMap(SingleRepertoire):
    def make(self) -> Held:
        return Mapped()


class TestOf(SingleRepertoire):
    def make(self) -> Held:
        return Of()


def two_at_once() -> Observable[str]:
    """Emits inside subscribe, as no source should."""

    def subscribe(observer: Any, scheduler: Any = None) -> Any:
        observer.on_next("a")
        observer.on_next("b")
        return None

    return reactivex.create(subscribe)


@pytest.mark.parametrize(
    ("single", "marbles"),
    [
        (Single.just("v"), "v|"),
        (Single.error(Boom()), "x"),
        (Single.from_callable(lambda: "v"), "v|"),
        (Single.from_callable(lambda: 1 / 0), "x"),
        (Single[Any](lambda emitter: emitter.on_success("v")), "v|"),
        (Single.create(lambda _: 1 / 0), "x"),
        (Single.of(reactivex.of("v")), "v|"),
        (Single.of(reactivex.of("v", "w")), "x"),
        (Single.of(reactivex.empty()), "x"),
        (Single.of(reactivex.throw(Boom())), "x"),
        (Single.of(two_at_once()), "x"),
        (Single.of(Blocking(Play("v|"))), "v|"),
        (Single.of(Blocking(Play("vw.|"))), "x"),
        (Single.just("v").map(str.upper), "V|"),
        (Single.just("v").map(lambda _: 1 / 0), "x"),
    ],
)
def test_marbles(single: Single[Any], marbles: str) -> None:
    """Whatever it is made of, it gives one value and ends, or an error; twice."""
    for _ in range(2):
        assert Seen().of(single).wait() == marbles


@pytest.mark.parametrize("source", [reactivex.of("v", "w"), two_at_once(), reactivex.empty()])
def test_not_one_value(source: Observable[str]) -> None:
    """Two values, or none, are a mistake that the error names."""
    seen = Seen().of(Single.of(source))
    seen.wait()
    assert isinstance(seen.error, UsageError)


def test_second_value_disposes() -> None:
    """A second value stops the source."""
    play = Play("vw.|")
    assert Seen().of(Single.of(Blocking(play))).wait() == "x"
    assert play.end() == "stopped"


def test_cancel_action_is_late() -> None:
    """A cancel action that is set after the dispose runs at once; after the end it never does."""
    for disposed in (True, False):
        held = Created()
        seen = Seen().of(held.single)
        if disposed:
            seen.dispose()
        else:
            held.finish("v")
        held.cancelled.clear()
        held.emitter.set_cancellable(held.cancelled.set)
        assert held.cancelled.is_set() is disposed
        assert held.emitter.is_disposed is disposed


def test_raising_cancel_action() -> None:
    """What a cancel action raises is dropped; the dispose goes on."""

    def cancel() -> None:
        raise Boom("cancel")

    with dropped_errors() as dropped:
        Seen().of(Single(lambda emitter: emitter.set_cancellable(cancel))).dispose()
        assert took(dropped)[1] == "cancel action"


def test_late_error() -> None:
    """An error after the end or a dispose goes to the hook; a late value is ignored."""
    held = Created()
    Seen().of(held.single).dispose()
    with dropped_errors() as dropped:
        held.finish("late")
        held.fail(Boom("late"))
        assert str(took(dropped)[0]) == "late"
        assert dropped.empty()


def test_start_is_not_called_in_subscribe() -> None:
    """The start waits until the chain is linked: a dispose in the same trampoline comes before it."""
    held = Created()
    reactivex.just(0).subscribe(lambda _: Seen().of(held.single).dispose())
    assert held.started.empty()


def test_begin_starts_in_place() -> None:
    """Begun, it starts before `begin` returns, also inside of a subscribe, gives its one end, and can be disposed."""
    ends: list[object] = []

    def inside(emitter: SingleEmitter[int]) -> None:
        Single.just(1).begin(ends.append, ends.append)
        ends.append("started")
        emitter.on_success(2)
        emitter.on_success(3)

    reactivex.concat(Single(inside)).subscribe(ends.append)
    assert ends == [1, "started", 2]

    boom, held = Boom(), Created()

    def fails() -> int:
        raise boom

    Single.from_callable(fails).begin(ends.append, ends.append)
    dispose = held.single.begin(ends.append, ends.append)
    dispose()
    held.emitter.on_success("late")
    assert held.cancelled.is_set()
    assert ends == [1, "started", 2, boom]


def test_exit_passes() -> None:
    """A SystemExit of the start function leaves by the subscriber."""

    def start(_: object) -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        Seen().of(Single(start))


def test_blocking_get_raises() -> None:
    """`blocking_get` raises the error itself, and Stopped at once in a cancelled scope."""
    error = Boom()
    with pytest.raises(Boom) as caught:
        Single.error(error).blocking_get(CancelScope())
    assert caught.value is error


def test_blocking_get_inside_of_a_subscribe() -> None:
    """Code that runs inside of a subscribe, as a plain tool does, may wait for another Single there."""
    got: list[int] = []

    def start(emitter: SingleEmitter[int]) -> None:
        got.append(Single.just(1).blocking_get(timeout=10))
        emitter.on_success(2)

    assert Single(start).blocking_get(timeout=10) == 2
    assert got == [1]
