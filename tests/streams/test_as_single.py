"""Whatever a tool may return, as a Single."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import asyncio
import gc
import warnings
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

import pytest
import reactivex

from rxagent.streams import Blocking, CancelScope, EventStream, Single, Stopped, as_single, is_deferred, settle
from rxagent.streams.aio import single_of_awaitable
from rxagent.streams.workers import workers

from .acting import Boom, Play, Seen, took
from .repertoire import Held, SingleRepertoire


class FutureHeld(Held):
    """A Future of an executor."""

    is_repeatable = False

    def __init__(self) -> None:
        super().__init__()
        self.future: Future[Any] = Future()
        self.future.add_done_callback(lambda ended: ended.cancelled() and self.cancelled.set())
        self.single = as_single(self.future)
        self.started.put(True)

    def finish(self, value: object) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(value)

    def fail(self, error: Exception) -> None:
        self.future.set_exception(error)


class StreamHeld(Held):
    """An Observable: its last value."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: SimpleQueue[Any] = SimpleQueue()
        self.single = as_single(Blocking(self.produce))

    def produce(self, scope: CancelScope) -> Any:
        self.started.put(True)
        try:
            yield "first"
            value = scope.wait(self.answers)
        except Stopped:
            self.cancelled.set()
            raise
        if isinstance(value, Exception):
            raise value
        yield value

    def finish(self, value: object) -> None:
        self.answers.put(value)

    def fail(self, error: Exception) -> None:
        self.answers.put(error)


class TestFuture(SingleRepertoire):
    def make(self) -> Held:
        return FutureHeld()


class TestObservable(SingleRepertoire):
    def make(self) -> Held:
        return StreamHeld()


async def coroutine(value: object = "v") -> object:
    return value


def done(value: object = "v") -> Future[object]:
    future: Future[object] = Future()
    future.set_result(value)
    return future


@pytest.mark.parametrize(
    ("make", "deferred", "value"),
    [
        (lambda: "v", False, "v"),
        (lambda: None, False, None),
        (lambda: ["v"], False, ["v"]),
        (lambda: Single.just("v"), True, "v"),
        (lambda: reactivex.of("u", "v"), True, "v"),
        (reactivex.empty, True, None),
        (lambda: EventStream(reactivex.of("u", "v")), True, "v"),
        (lambda: Blocking(Play("uv|")), True, "v"),
        (coroutine, True, "v"),
        (done, True, "v"),
    ],
)
def test_kinds(make: Any, deferred: bool, value: object) -> None:
    """Every kind gives its value, as a Single and by `settle`; only what has to be waited for is deferred."""
    thing = make()
    assert is_deferred(thing) is deferred
    assert settle(thing, CancelScope()) == value
    assert as_single(make()).blocking_get(timeout=10) == value


def test_a_single_stays_itself() -> None:
    """A Single is not wrapped again."""
    single = Single.just("v")
    assert as_single(single) is single


async def fails() -> None:
    raise Boom("work")


def failed() -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(Boom("work"))
    return future


@pytest.mark.parametrize(
    "make", [lambda: Single.error(Boom("work")), lambda: reactivex.throw(Boom("work")), fails, failed]
)
def test_errors(make: Any) -> None:
    """The error of what is waited for is raised."""
    with pytest.raises(Boom, match="work"):
        settle(make(), CancelScope())


def test_cancelled_by_somebody_else() -> None:
    """A Future that somebody else cancels is an error, not a hang."""
    future: Future[Any] = Future()
    seen = Seen().of(as_single(future))
    future.cancel()
    assert seen.wait() == "x"
    assert "cancelled by somebody else" in str(seen.error)


def test_exit_in_an_executor() -> None:
    """A SystemExit that an executor caught is an error."""
    future: Future[Any] = Future()
    seen = Seen().of(as_single(future))
    future.set_exception(SystemExit(3))
    assert (seen.wait(), type(seen.error)) == ("x", RuntimeError)


def test_coroutine_object_serves_once() -> None:
    """A coroutine object gives its value once; a second subscription is an error."""
    single = as_single(coroutine())
    assert Seen().of(single).wait() == "v|"
    assert Seen().of(single).wait() == "x"


def test_asyncio_future_on_its_loop() -> None:
    """An asyncio Future is awaited on its own loop, from any thread."""
    gone: SimpleQueue[Any] = SimpleQueue()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str] = loop.create_future()
        ended = loop.create_future()

        def wait() -> None:
            gone.put(as_single(future).blocking_get(timeout=10))
            loop.call_soon_threadsafe(ended.set_result, None)

        workers.spawn(wait)
        loop.call_later(0.01, future.set_result, "v")
        await ended

    asyncio.run(main())
    assert took(gone) == "v"


def test_settle_stops() -> None:
    """A cancelled scope leaves the wait by Stopped and cancels what it waited for."""
    scope, future = CancelScope(), Future[Any]()
    scope.on_cancel(lambda: None)
    scope.cancel("test")
    with pytest.raises(Stopped):
        settle(future, scope)
    assert future.cancelled()


def test_a_coroutine_that_is_left_at_once() -> None:
    """A coroutine whose wait is left before its first step is closed, and never warned about."""

    async def coroutine() -> None: ...

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(20):
            scope = CancelScope()
            scope.cancel()
            with pytest.raises(Stopped):
                settle(coroutine(), scope)
        assert single_of_awaitable(asyncio.sleep(0)).blocking_get() is None  # the loop has come by all of them
        gc.collect()
    assert [str(one.message) for one in caught] == []
