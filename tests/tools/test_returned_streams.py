"""Tools that return a Single, an Observable or a Future: each is waited for, and left by a dispose."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
import reactivex
from reactivex import Observable
from reactivex.disposable import Disposable

from rxagent.streams.single import Single
from rxagent.tools import FunctionTool

from .calls import Call, call, result_of


def done_future() -> Future[str]:
    future: Future[str] = Future()
    future.set_result("later")
    return future


@pytest.mark.promise("J8")
@pytest.mark.parametrize(
    ("func", "result"),
    [
        (lambda: Single.just("later"), {"result": "later"}),
        (lambda: Single.just(None), {}),
        (lambda: Single.just({"a": 1}), {"a": 1}),
        (lambda: reactivex.of(1, 2, 3), {"result": 3}),
        (lambda: reactivex.empty(), {}),
        (done_future, {"result": "later"}),
    ],
    ids=["single", "none", "map", "observable", "empty", "future"],
)
def test_returned_streams(func: Callable[..., object], result: dict[str, object]) -> None:
    """A returned Single, Observable (its last value, {} for none) or Future is waited for."""
    assert result_of(FunctionTool(func, name="f")) == result


def failed_future() -> Future[str]:
    future: Future[str] = Future()
    future.set_exception(OSError("disk"))
    return future


def raising(_: object) -> None:
    raise OSError("disk")


@pytest.mark.promise("J20")
@pytest.mark.parametrize(
    "func",
    [
        lambda: Single.error(OSError("disk")),
        lambda: reactivex.throw(OSError("disk")),
        failed_future,
        lambda: Single.create(raising),
    ],
    ids=["single", "observable", "future", "create"],
)
def test_emitted_errors_are_errors(func: Callable[..., object]) -> None:
    """An error that a returned Single, Observable or Future emits is the call's error, one raised in create too."""
    ended = call(FunctionTool(func, name="f"))
    assert ended.results == []
    [error] = ended.errors
    assert isinstance(error, OSError)
    assert str(error) == "disk"


def test_a_later_result_that_cannot_be_printed() -> None:
    """A value of a returned Single whose conversion fails is the call's error."""

    class Bad:
        def __str__(self) -> str:
            raise ValueError("no text")

    ended = call(FunctionTool(lambda: Single.just(Bad()), name="f"))
    assert [str(error) for error in ended.errors] == ["no text"]


@pytest.mark.promise("J8")
def test_dispose_reaches_the_returned_single() -> None:
    """Disposing the call runs the returned Single's cancel action, once, before dispose returns."""
    cancelled: list[int] = []
    tool = FunctionTool(
        lambda: Single.create(lambda emitter: emitter.set_cancellable(lambda: cancelled.append(1))), name="f"
    )
    left = Call(tool, {})
    left.handle.dispose()
    left.handle.dispose()
    assert cancelled == [1]
    assert (left.results, left.errors, left.completed) == ([], [], False)


@pytest.mark.promise("J8")
def test_dispose_reaches_the_returned_observable() -> None:
    """Disposing the call disposes the returned Observable, and its earlier values are no result."""
    disposed: list[int] = []

    def source() -> Observable[int]:
        def subscribe(observer: reactivex.abc.ObserverBase[int], _: object) -> reactivex.abc.DisposableBase:
            observer.on_next(1)
            return Disposable(lambda: disposed.append(1))

        return reactivex.create(subscribe)

    left = Call(FunctionTool(source), {})
    left.handle.dispose()
    assert disposed == [1]
    assert left.results == []


@pytest.mark.promise("J8")
def test_dispose_cancels_the_future() -> None:
    """Disposing the call cancels a job that has not begun."""
    busy, jobs = threading.Event(), []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(busy.wait, 5)

        def queue() -> Future[str]:
            jobs.append(pool.submit(lambda: "ran"))
            return jobs[0]

        left = Call(FunctionTool(queue), {})
        left.handle.dispose()
        busy.set()
    assert jobs[0].cancelled()
    assert left.errors == []
