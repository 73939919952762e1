"""An Observable to iterate, to await and to read by `async for`."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import asyncio
import gc
import threading
from queue import SimpleQueue
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.subject import Subject

from rxagent.errors import UsageError
from rxagent.streams import Blocking, CancelScope, EventStream
from rxagent.streams.iteration import Door, current_door, enclosing_scopes
from rxagent.streams.workers import workers

from .acting import LIMIT, Boom, Host, Play, Seen, thread_errors, took
from .repertoire import StreamRepertoire


class TestSubscribe(StreamRepertoire):
    """Subscribed."""

    def make(self, host: Host, play: Play) -> Observable[Any]:
        return EventStream(Blocking(play))


class TestPiped(StreamRepertoire):
    """Subscribed behind a pipe."""

    def make(self, host: Host, play: Play) -> Observable[Any]:
        return EventStream(Blocking(play)).pipe(ops.map(lambda item: item))  # type: ignore[no-any-return]


def stream(play: Play) -> EventStream[Any]:
    return EventStream(Blocking(play))


async def read(source: Any) -> list[Any]:
    return [item async for item in source]


def test_what_stays_an_event_stream() -> None:
    """What comes out of pipe, of a fluent method, of a slice or of + is an EventStream again; a Subject is not."""
    source = stream(Play("abc|"))
    made: list[Any] = [
        source.pipe(ops.filter(lambda item: item != "b")),
        source.map(str.upper),
        source[0:2],
        source + reactivex.of("z"),
        source.pipe(ops.take(1)),
    ]
    assert [type(one) for one in made] == [EventStream] * 5
    assert [list(one) for one in made] == [
        ["a", "c"],
        ["A", "B", "C"],
        ["a", "b"],
        ["a", "b", "c", "z"],
        ["a"],
    ]
    assert type(source.pipe(ops.publish())) is not EventStream
    assert source.pipe(lambda _: 5) == 5


def test_no_layer() -> None:
    """It costs no layer: the source is given the subscriber's own observer, and no scheduler."""
    given: list[Any] = []

    class Source(Observable[Any]):
        def _subscribe_core(self, observer: Any, scheduler: Any = None) -> Any:
            given.extend((observer, scheduler))
            return Subject()

    seen: list[Any] = []
    EventStream(Source()).subscribe(seen.append, scheduler=reactivex.scheduler.ImmediateScheduler())
    assert (given[0]._on_next, given[1]) == (seen.append, None)


# -- async for ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("marbles", ["abc|", "|"])
def test_async_for(marbles: str, debug: bool) -> None:
    """The items, then the end, also where asyncio looks for calls from the wrong thread."""
    assert asyncio.run(read(stream(Play(marbles))), debug=debug) == list(marbles[:-1])


def test_async_error() -> None:
    """The stream's error is raised."""
    play = Play("abx")
    with pytest.raises(Boom) as caught:
        asyncio.run(read(stream(play)))
    assert caught.value is play.error


def test_async_twice() -> None:
    """Each `async for` is a subscription."""
    play = Play("a|")
    source = stream(play)

    async def main() -> list[Any]:
        return [await read(source), await read(source)]

    assert asyncio.run(main()) == [["a"], ["a"]]
    assert play.started == 2


def test_async_break() -> None:
    """A break in `async for` disposes, and the loop need not turn for it."""
    play = Play("abcd.|")

    async def main() -> None:
        async for _ in stream(play):
            break
        assert play.end() == "stopped"  # blocks the loop: aclose has not run

    asyncio.run(main())


def test_async_close() -> None:
    """`aclose` disposes."""
    play = Play("abcd.|")

    async def main() -> None:
        items: Any = stream(play).__aiter__()
        await anext(items)
        await items.aclose()
        assert play.end() == "stopped"
        assert [item async for item in items] == []

    asyncio.run(main())


def test_task_cancel() -> None:
    """Cancelling the task that reads disposes."""
    play = Play("a.|")

    async def main() -> None:
        task = asyncio.ensure_future(read(stream(play)))
        await asyncio.to_thread(play.waits)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert play.end() == "stopped"


def test_loop_closed_under_it() -> None:
    """When the loop ends under a reader the source is disposed."""
    play = Play("abcd.|")

    async def main() -> None:
        held.append(stream(play).__aiter__())
        await anext(held[0])

    held: list[Any] = []
    asyncio.run(main())
    assert play.end() == "stopped"
    del held[:]
    gc.collect()


def test_loop_closed_without_a_word() -> None:
    """Even a loop that is closed without ending its generators keeps no source running."""
    play = Play("a.bcd|")
    loop = asyncio.new_event_loop()
    items: Any = stream(play).__aiter__()
    loop.run_until_complete(items.__anext__())
    play.waits()
    loop.close()
    play.open()
    assert play.end() == "stopped"
    del items
    gc.collect()


def test_async_held_back() -> None:
    """The source is at most one item ahead of the one that it stands before."""
    play = Play("abcdefgh|")

    async def main() -> None:
        items: Any = stream(play).__aiter__()
        await anext(items)
        await asyncio.sleep(0.02)  # time for it to run ahead, if it would
        assert len(play.made) <= 3
        await items.aclose()

    asyncio.run(main())


def test_source_on_the_loop_itself() -> None:
    """A source that emits on the very loop that reads it does not stop that loop."""

    def subscribe(observer: Any, scheduler: Any = None) -> None:
        def emit() -> None:
            for number in range(5):
                observer.on_next(number)
            observer.on_completed()

        loops[0].call_soon_threadsafe(emit)

    loops: list[asyncio.AbstractEventLoop] = []

    async def main() -> list[Any]:
        loops.append(asyncio.get_running_loop())
        return await read(EventStream(reactivex.create(subscribe)))  # type: ignore[arg-type]

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_async_stops_with_its_run() -> None:
    """In a tool it ends with the run that the tool is part of."""
    play, outer = Play("a.|"), CancelScope()

    async def main() -> list[Any]:
        enclosing_scopes.set((outer,))
        workers.spawn(lambda: (play.waits(), outer.cancel("test")))
        return await read(stream(play))

    assert asyncio.run(main()) == ["a"]
    assert play.end() == "stopped"
    assert len(outer._callbacks) == 0


def test_late_run_is_asked() -> None:
    """A run that comes behind a pipe after the wait has begun is asked whether it may be waited for."""
    go = threading.Event()

    def refuse() -> bool:
        raise UsageError("for oneself")

    def factory(_: object) -> Observable[Any]:
        door = current_door.get()
        assert door is not None
        assert go.wait(LIMIT)
        door.before_wait = refuse
        return reactivex.never()

    async def main() -> None:
        asyncio.get_running_loop().call_later(0.05, go.set)
        with pytest.raises(UsageError, match="oneself"):
            await read(EventStream(reactivex.defer(factory)))

    asyncio.run(main())


# -- await -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("marbles", "value"), [("ab|", "b"), ("|", None)])
def test_await(marbles: str, value: object) -> None:
    """`await` gives the last item, None for an empty stream."""

    async def main() -> Any:
        return await stream(Play(marbles))

    assert asyncio.run(main(), debug=True) == value


def test_await_error() -> None:
    """`await` raises the stream's error, a StopIteration as an error too."""

    async def main() -> None:
        with pytest.raises(Boom):
            await stream(Play("ax"))
        with pytest.raises(RuntimeError, match="StopIteration"):
            await EventStream(reactivex.throw(StopIteration()))

    asyncio.run(main())


# -- launch ------------------------------------------------------------------------------------------------------------


class Launched(Observable[str]):
    """A source with a door of its own kind: it starts on the calling thread."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: SimpleQueue[int] = SimpleQueue()
        self.gone = threading.Event()

    def launch(self, observer: Any, door: Door) -> Any:
        self.threads.put(threading.get_ident())
        handle = Blocking(Play("ab|")).subscribe(observer)
        return lambda: (self.gone.set(), handle.dispose())


def test_launch() -> None:
    """A source that can start without a trampoline is started on the thread that asks, and disposed by its own way."""
    source = Launched()
    for _ in EventStream(source, source):
        break
    assert took(source.threads) == threading.get_ident()
    assert source.gone.wait(LIMIT)
    assert asyncio.run(read(EventStream(source, source))) == ["a", "b"]


def test_failing_subscribe() -> None:
    """What subscribing raises is raised at the taker, a SystemExit too."""

    class Bad(Observable[Any]):
        def __init__(self, error: BaseException) -> None:
            super().__init__()
            self.error = error

        def _subscribe_core(self, observer: Any, scheduler: Any = None) -> Any:
            raise self.error

    with pytest.raises(Boom):
        list(EventStream(Bad(Boom())))
    with thread_errors() as errors:
        with pytest.raises(SystemExit):
            list(EventStream(Bad(SystemExit(3))))
        assert took(errors) is SystemExit


def test_the_readers_thread() -> None:
    """Items are made on a worker and taken on the reader's thread."""
    play = Play("ab|")
    assert list(stream(play)) == ["a", "b"]
    assert threading.get_ident() not in play.threads
    assert Seen().of(stream(play)).wait() == "ab|"
