"""A stream as a blocking iterator, and the door behind it."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple

import pytest
import reactivex
from reactivex import Observable

from rxagent.errors import UsageError
from rxagent.streams import Blocking, CancelScope, EventStream, Stopped, idle
from rxagent.streams.aio import single_of_coroutine
from rxagent.streams.iteration import Door, current_door, enclosing_scopes
from rxagent.streams.workers import workers

from .acting import LIMIT, Boom, Play, fast_switches, took
from .repertoire import RACES


def stream(play: Any) -> EventStream[Any]:
    return EventStream(Blocking(play))


@pytest.mark.parametrize("marbles", ["abc|", "|"])
def test_completes(marbles: str) -> None:
    """The items, then the end; asked again it stays at its end."""
    items = stream(Play(marbles)).run()
    assert list(items) == list(marbles[:-1])
    assert list(items) == []


def test_error() -> None:
    """The stream's error is raised after the items before it."""
    play = Play("abx")
    got: list[str] = []
    with pytest.raises(Boom) as caught:
        got.extend(iter(stream(play).run()))
    assert caught.value is play.error


def test_stop_iteration_is_an_error() -> None:
    """A stream that fails with StopIteration does not look complete."""
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(EventStream(reactivex.throw(StopIteration())))


def test_cold() -> None:
    """Nothing is subscribed before the first `next`; each iteration is a subscription."""
    play = Play("a|")
    source = stream(play)
    items = source.run()
    assert play.started == 0
    assert (list(items), list(source), list(source.run())) == (["a"], ["a"], ["a"])
    assert play.started == 3


def test_held_back() -> None:
    """The source is at most one item ahead of the one that it stands before."""
    play = Play("abcdefgh|")
    items = stream(play).run()
    next(items)
    for _ in range(20):
        threading.Event().wait(0.001)  # time for it to run ahead, if it would
    assert len(play.made) <= 3
    assert list(items) == list("bcdefgh")


def test_subscribed_on_a_worker() -> None:
    """A source that emits inside subscribe is read like any other."""
    assert list(EventStream(reactivex.of(1, 2, 3)).run()) == [1, 2, 3]
    assert list(stream(Play("a|")).pipe(reactivex.operators.start_with("y", "z"))) == ["y", "z", "a"]


@pytest.mark.parametrize("how", ["break", "close", "with", "drop", "interrupt", "error"])
def test_left(how: str) -> None:
    """Leaving the loop by whatever way disposes the source."""
    play = Play("abcd.|")
    items: Any = stream(play).run()
    if how == "break":
        for _ in stream(play):
            break
    elif how == "close":
        next(items)
        items.close()
        items.close()
        assert list(items) == []
    elif how == "with":
        with items:
            next(items)
    elif how == "drop":
        next(items)
        del items
        gc.collect()
    else:
        error = KeyboardInterrupt if how == "interrupt" else Boom
        with pytest.raises(error):
            _raise_inside(stream(play), error())
    assert play.end() == "stopped"


def _raise_inside(source: Any, error: BaseException) -> None:
    for _ in source:
        raise error


def test_interrupted_wait() -> None:
    """A KeyboardInterrupt while it waits disposes the source."""
    play = Play(".|")
    items = stream(play).run()

    class Interrupted(SimpleQueue[Any]):
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            play.waits()
            raise KeyboardInterrupt

    items._items = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        next(items)
    assert play.end() == "stopped"


def test_closed_from_another_thread() -> None:
    """A close from another thread ends a waiting loop."""
    play = Play("a.|")
    items = stream(play).run()
    assert next(items) == "a"
    workers.spawn(lambda: (play.waits(), items.close()))
    assert list(items) == []
    assert play.end() == "stopped"


def test_stops_with_its_run() -> None:
    """Inside a tool it is left by Stopped when the tool's run is stopped, and leaves nothing on its scope."""
    play, outer = Play("a.|"), CancelScope()
    left: SimpleQueue[BaseException] = SimpleQueue()

    def tool() -> None:
        enclosing_scopes.set((outer,))
        list(stream(Play("ab|")))
        left.put(AssertionError(len(outer._callbacks)))
        try:
            list(stream(play))
        except BaseException as stopped:
            left.put(stopped)

    workers.spawn(tool)
    assert took(left).args == (0,)
    play.waits()
    outer.cancel("test")
    assert isinstance(took(left), Stopped)
    assert play.end() == "stopped"


def test_inside_another_run() -> None:
    """A stream is read inside another one's on_next, trampoline or not."""
    got: list[list[str]] = []
    reactivex.of(1, 2).subscribe(lambda _: got.append(list(stream(Play("ab|")))))
    assert got == [["a", "b"]] * 2


def test_refused_on_the_background_loop() -> None:
    """Iterating in a coroutine on the background loop is refused, and nothing is left open."""
    play = Play("a|")

    async def blocks() -> None:
        list(stream(play))

    with pytest.raises(UsageError):
        single_of_coroutine(blocks).blocking_get(timeout=LIMIT)
    assert play.started == 0


def test_on_a_users_loop() -> None:
    """On a loop of the user it works, as in a notebook's cell."""

    async def main() -> list[str]:
        return list(stream(Play("ab|")))

    assert asyncio.run(main()) == ["a", "b"]


def test_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a thread to be had it raises, and works again later."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    play = Play("a|")
    idle.end_all()
    workers.end_idle()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start"):
            list(stream(play))
    assert list(stream(play)) == ["a"]


def test_dropped_keeps_nothing() -> None:
    """A dropped iterator is collected at once, and a read one keeps nothing of its source."""
    items = stream(Play("ab.|")).run()
    next(items)
    alive = weakref.ref(items)
    del items
    assert alive() is None


def test_races() -> None:
    """Of 500 races of a close with the end none hangs, and the source is out."""
    with fast_switches():
        for _ in range(RACES):
            play = Play("a.|")
            items = stream(play).run()
            assert next(items) == "a"
            play.waits()
            play.open()
            workers.spawn(items.close)
            assert list(items) == []
            assert play.end() in ("completed", "stopped")


# -- the door ----------------------------------------------------------------------------------------------------------


def test_door_is_handed_down() -> None:
    """What is behind the pipe finds the door of the bridge that subscribes."""
    doors: list[Door | None] = []

    def factory(_: object) -> Observable[Any]:
        doors.append(current_door.get())
        return reactivex.empty()

    list(EventStream(reactivex.defer(factory)))
    assert doors[0] is not None
    assert doors[0].blocks
    assert current_door.get() is None


def test_starving() -> None:
    """A door starves while the run stands still for its taker, and neither with room nor after it was left."""
    door, waiting = Door(), threading.Event()
    door.await_room("a")
    assert not door.is_starving
    left: SimpleQueue[bool] = SimpleQueue()

    def stand() -> None:
        waiting.set()
        try:
            door.await_room("b")
            left.put(True)
        except Stopped:
            left.put(False)

    finishes: list[tuple[Callable[[], object], bool]] = [(lambda: door.took(), True), (door.close, False)]
    for finish, expected in finishes:
        workers.spawn(stand)
        _until(lambda: door.is_starving)
        finish()
        assert took(left) is expected
        assert not door.is_starving
    with pytest.raises(Stopped):
        door.await_room("b")


def _until(condition: Any) -> None:
    for _ in range(5000):
        if condition():
            return
        threading.Event().wait(0.001)
    raise AssertionError("not in time")


def test_left_doors_do_not_starve() -> None:
    """A loop that was left by break does not starve its run, not even for an instant."""
    for _ in range(100):
        doors: list[Door] = []

        def factory(_: object, doors: list[Door] = doors) -> Observable[Any]:
            door = current_door.get()
            assert door is not None
            doors.append(door)
            return Blocking(Play("abcd.|"))

        for _item in EventStream(reactivex.defer(factory)):
            _until(lambda doors=doors: doors[0].is_starving)
            break
        assert not doors[0].is_starving


def test_partial_items_run_ahead() -> None:
    """Of partial items 64 may be on their way, behind a whole one that was taken; a whole one waits for all of them."""
    whole, partial = Shown(partial=False), Shown(partial=True)
    shown = [whole, *[partial] * 100, whole, partial]
    made: list[Shown] = []
    items: Any = EventStream(Blocking(lambda _: (made.append(item) or item for item in shown))).run()

    def stands_at(number: int) -> None:
        """So many were made, and the last of them is held at the door."""
        _until(lambda: items._door.is_starving and len(made) >= number)
        for _ in range(10):
            threading.Event().wait(0.001)  # time for it to run ahead, if it would
        assert len(made) == number

    assert next(items) is whole
    stands_at(1 + 64 + 1)
    assert [next(items) for _ in range(36)] == [partial] * 36
    stands_at(1 + 100 + 1)
    assert [next(items) for _ in range(64)] == [partial] * 64
    stands_at(1 + 100 + 1 + 1)  # the whole one is on its way: a partial one behind it waits
    assert list(items) == [whole, partial]


class Shown(NamedTuple):
    """An item as a door sees it."""

    partial: bool


def test_let_go() -> None:
    """A stopped run no longer waits for its taker."""
    door = Door()
    door.let_go()
    for _ in range(3):
        door.await_room("b")


def test_a_loop_does_not_stand_still() -> None:
    """On a loop's thread a door never waits."""

    async def main() -> None:
        Door().await_room("b")

    asyncio.run(main())


def test_late_run_is_asked() -> None:
    """A run that comes behind a pipe after the wait has begun is asked whether it may be waited for."""
    asked: SimpleQueue[bool] = SimpleQueue()
    go = threading.Event()

    def refuse() -> bool:
        asked.put(True)
        raise UsageError("for oneself")

    def factory(_: object) -> Observable[Any]:
        door = current_door.get()
        assert door is not None
        assert go.wait(LIMIT)
        door.before_wait = refuse
        return reactivex.never()

    threading.Timer(0.05, go.set).start()
    with pytest.raises(UsageError, match="oneself"):
        list(EventStream(reactivex.defer(factory)))
    assert took(asked)


def test_patience() -> None:
    """Without a question a wait is patient; while the answer may change it is asked again."""
    door = Door()
    assert door.patience() is None
    door.before_wait = lambda: False
    assert door.patience() is None
    door.before_wait = lambda: True
    assert door.patience() is not None
    assert contextvars.copy_context().get(current_door) is None


def test_the_end_of_the_run_may_come_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends, and takes its question away, while a wait is about to ask it, does not fail that wait."""
    answers: list[Callable[[], bool] | None] = [lambda: False, None]
    monkeypatch.setattr(Door, "before_wait", property(lambda _: answers.pop(0)))
    assert Door().patience() is None
