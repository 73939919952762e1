"""Blocking code as a stream, and pulling any stream from blocking code."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex.disposable import Disposable

from rxagent.streams import Blocking, CancelScope, Stopped, pull
from rxagent.streams.workers import workers

from .acting import LIMIT, Host, Play, Seen, dropped_errors, took
from .repertoire import StreamRepertoire


class TestBlocking(StreamRepertoire):
    """Subscribed."""

    def make(self, host: Host, play: Play) -> Observable[Any]:
        return Blocking(play)


class Pulled(Observable[Any]):
    """Somebody else's stream, pulled: in the work of another one, so that the repertoire can be played on it."""

    def __init__(self, source: Observable[Any]) -> None:
        super().__init__()
        self._source = source

    def _subscribe_core(self, observer: Any, scheduler: Any = None) -> Any:
        return Blocking(lambda scope: pull(self._source, scope))._subscribe_core(observer)


class TestPull(StreamRepertoire):
    """A foreign stream pulled by blocking code: what it makes waits in memory."""

    holds_back = False

    def make(self, host: Host, play: Play) -> Observable[Any]:
        return Pulled(reactivex.merge(Blocking(play)))


@pytest.mark.parametrize("is_foreign", [False, True])
def test_pull_in_place(is_foreign: bool) -> None:
    """A Blocking stream is produced on the thread that pulls, another one wherever it is."""
    play = Play("ab|")
    source: Observable[str] = Blocking(play)
    if is_foreign:
        source = reactivex.merge(source)
    assert list(pull(source, CancelScope())) == ["a", "b"]
    assert (play.threads == [threading.get_ident()]) is not is_foreign


def test_pull_leaves_by_break() -> None:
    """Leaving the loop over a pulled stream disposes it."""
    play = Play("ab.c|")
    for _ in pull(reactivex.merge(Blocking(play)), CancelScope()):
        break
    assert play.end() == "stopped"


def test_pull_stops() -> None:
    """A cancel of the scope leaves a pull by Stopped, and disposes the stream."""
    scope, gone = CancelScope(), threading.Event()
    subscribed: SimpleQueue[bool] = SimpleQueue()

    def subscribe(observer: Any, scheduler: Any = None) -> Disposable:
        subscribed.put(True)
        return Disposable(gone.set)

    workers.spawn(lambda: (took(subscribed), scope.cancel("test")))
    with pytest.raises(Stopped):
        next(pull(reactivex.create(subscribe), scope))
    assert gone.is_set()


def test_late_error() -> None:
    """An error after the dispose goes to the hook of dropped errors, not to the consumer."""
    inside, go = threading.Event(), threading.Event()

    def produce(scope: CancelScope) -> Iterator[str]:
        inside.set()
        assert go.wait(LIMIT)
        yield from Play("x")(CancelScope())

    with dropped_errors() as dropped:
        seen = Seen().of(Blocking(produce))
        assert inside.wait(LIMIT)
        seen.dispose()
        go.set()
        error, where = took(dropped)
    assert (str(error), where, seen.marbles) == ("x", "Blocking, after its dispose", "")


def test_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a thread to be had the stream fails, at the subscriber."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    workers.end_idle()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    seen = Seen().of(Blocking(Play("a|")))
    assert (seen.marbles, str(seen.error)) == ("x", "can't start new thread")


def test_an_idle_worker_keeps_nothing() -> None:
    """What a worker has produced is not kept by the thread that stands idle afterwards."""

    class Thing:
        pass

    def produce(scope: CancelScope) -> Iterator[Thing]:
        yield things[0]

    things = [Thing()]
    alive = weakref.ref(things[0])
    ended = threading.Event()
    Blocking(produce).subscribe(lambda _: None, None, ended.set)
    assert ended.wait(LIMIT)
    del things[:]
    workers.end_idle()  # which has come to rest by then
    gc.collect()
    assert alive() is None
