"""What the tests of streams share: sources that play marbles, consumers that note them, a run in small."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from reactivex import Observable
from reactivex.disposable import SerialDisposable

from rxagent.streams import CancelScope, Emit, Ledger, Mailbox, Stopped, Work, set_on_dropped_error
from rxagent.streams.workers import workers

__all__ = ["LIMIT", "Boom", "Host", "Play", "Seen", "dropped_errors", "fast_switches", "thread_errors", "took"]

LIMIT = 10.0
"""Seconds that no wait of a passing test takes."""


class Boom(Exception):
    """What goes wrong in these tests."""


def took(queue: SimpleQueue[Any]) -> Any:
    """The next item of a queue, waited for; a failure when there is none in time."""
    try:
        return queue.get(timeout=LIMIT)
    except Empty:
        raise AssertionError("nothing came in time") from None


class Play:
    """Blocking code that plays marbles, each time it is called: `Play("ab.c|")`.

    A letter is yielded; `.` waits for `open()`; `|` ends; `x` raises `error`; `!` raises SystemExit.
    made: what was yielded. ends: how each play ended: completed, failed, stopped.
    """

    def __init__(self, marbles: str) -> None:
        self.marbles = marbles
        self.error = Boom(marbles)
        self.made: list[str] = []
        self.started = 0
        self.threads: list[int] = []
        self._waiting: SimpleQueue[bool] = SimpleQueue()
        self._gate: SimpleQueue[bool] = SimpleQueue()
        self._ends: SimpleQueue[str] = SimpleQueue()

    def __call__(self, scope: CancelScope) -> Iterator[str]:
        self.started += 1
        self.threads.append(threading.get_ident())
        end = "stopped"
        try:
            for mark in self.marbles:
                if mark == ".":
                    self._waiting.put(True)
                    scope.wait(self._gate)
                elif mark == "x":
                    end = "failed"
                    raise self.error.with_traceback(None)
                elif mark == "!":
                    end = "failed"
                    raise SystemExit
                elif mark != "|":
                    self.made.append(mark)
                    yield mark
            end = "completed"
        finally:
            self._ends.put(end)

    def work(self, mailbox: Mailbox) -> Observable[str]:
        """The play as a step of a run."""

        def body(emit: Emit[str], scope: CancelScope) -> None:
            for item in self(scope):
                emit(item)

        return Work(mailbox, body)

    def waits(self) -> None:
        """Returns when a play has come to a `.`."""
        took(self._waiting)

    def open(self) -> None:
        """Let one play go on behind its `.`."""
        self._gate.put(True)

    def end(self) -> str:
        """How the next play that ends has ended."""
        return str(took(self._ends))


class Seen:
    """Subscribes, and notes what comes as marbles: `ab|`, `abx`. on_next: called with each item, once it is noted."""

    def __init__(self, on_next: Callable[[Any], object] | None = None) -> None:
        self.marbles = ""
        self.error: BaseException | None = None
        self.faults: list[str] = []
        self.threads: set[int] = set()
        self.handle = SerialDisposable()
        self._on_next = on_next
        self._inside = False
        self._items: SimpleQueue[Any] = SimpleQueue()
        self._ended = threading.Event()

    def of(self, stream: Observable[Any]) -> Seen:
        """Subscribe."""
        self.handle.disposable = stream.subscribe(self.on_next, self.on_error, self.on_completed)
        return self

    def dispose(self) -> None:
        self.handle.dispose()

    def item(self) -> Any:
        """The next item that was not asked for yet; waits for it."""
        return took(self._items)

    def wait(self) -> str:
        """Wait for the end; the marbles."""
        assert self._ended.wait(LIMIT), f"no end after {self.marbles!r}"
        return self.marbles

    def on_next(self, item: Any) -> None:
        self._note("a second item" if self._inside else "", str(item))
        self._inside = True
        try:
            self._items.put(item)
            if self._on_next is not None:
                self._on_next(item)
        finally:
            self._inside = False

    def on_error(self, error: Exception) -> None:
        self.error = error
        self._note("an error" if self._inside else "", "x")
        self._ended.set()

    def on_completed(self) -> None:
        self._note("the end" if self._inside else "", "|")
        self._ended.set()

    def _note(self, fault: str, mark: str) -> None:
        if fault:
            self.faults.append(f"{fault} during on_next")
        if self.marbles[-1:] in ("|", "x"):
            self.faults.append(f"{mark} after the end")
        self.threads.add(threading.get_ident())
        self.marbles += mark


class Host:
    """A run in small: a scope, a ledger, a mailbox, and a worker that serves it until the `with` block is left.

    error: what left the mailbox, other than a stop of its own.
    """

    def __init__(self) -> None:
        self.scope = CancelScope()
        self.mailbox = Mailbox(self.scope)
        self.ledger = Ledger(self._empty, workers.spawn)
        self.error: BaseException | None = None
        self.thread = 0
        self.failed = threading.Event()
        self._over = threading.Event()
        self._serving: SimpleQueue[int] = SimpleQueue()

    def _empty(self) -> None:
        self._over.set()

    def _serve(self) -> None:
        try:
            self.mailbox.serve(lambda: self._serving.put(threading.get_ident()))
        except BaseException as error:
            if not (isinstance(error, Stopped) and self.scope.is_cancelled):
                self.error = error
                self.scope.cancel("failed")
                self.failed.set()
        finally:
            self.ledger.leave()

    def __enter__(self) -> Host:
        workers.spawn(self._serve)
        self.thread = took(self._serving)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.scope.cancel("the test is over")
        assert self._over.wait(LIMIT), f"{self.ledger.count} pieces of work are still out"

    def run(self, job: Callable[[], object]) -> None:
        """Have a job run on the worker, and wait for it."""
        done: SimpleQueue[bool] = SimpleQueue()
        self.mailbox.post(lambda: (job(), done.put(True)))
        took(done)


@contextmanager
def dropped_errors() -> Iterator[SimpleQueue[tuple[BaseException, str]]]:
    """What goes to the hook of dropped errors meanwhile."""
    queue: SimpleQueue[tuple[BaseException, str]] = SimpleQueue()
    set_on_dropped_error(lambda error, where: queue.put((error, where)))
    try:
        yield queue
    finally:
        set_on_dropped_error(None)


@contextmanager
def thread_errors() -> Iterator[SimpleQueue[type[BaseException]]]:
    """What leaves threads by their root meanwhile."""
    queue: SimpleQueue[type[BaseException]] = SimpleQueue()
    plain, threading.excepthook = threading.excepthook, lambda told: queue.put(told.exc_type)
    before = threading.enumerate()
    try:
        yield queue
        while any(_is_worker(thread) for thread in threading.enumerate() if thread not in before):
            workers.end_idle()  # those that die by an error are on their way
            threading.Event().wait(0.001)
    finally:
        threading.excepthook = plain


def _is_worker(thread: threading.Thread) -> bool:
    return thread.name.startswith("rxagent-worker")


@contextmanager
def fast_switches() -> Iterator[None]:
    """Threads take turns every microsecond."""
    plain = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(plain)
