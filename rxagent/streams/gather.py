"""Gather: several Singles under way at once, for blocking code that waits for them."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar, final

from reactivex import Observable

from .scope import CancelScope
from .single import Single

__all__ = ["Gather"]

T = TypeVar("T")

_End: TypeAlias = tuple[int, Any, Exception | None]

_TOLD: _End = (-1, None, None)
"""In the inbox: the next job is due."""

_MOST_JOBS = 64
"""How much may wait to be told."""


@final
class Gather(Generic[T]):
    """Starts Singles as they are added, and waits for all of them in blocking code.

        add      a b c
        ends     --c---a-b
        results  ---------[a, b, c]

    Leaving the `with` block disposes those that have not ended. What `tell` was given runs in between, while it waits.
    Threads: add and results on one thread; the Singles complete on whichever thread they like, and nothing of the
    adder's runs there; tell from any thread.
    """

    def __init__(self, scope: CancelScope) -> None:
        self._scope = scope.child()
        self._inbox: SimpleQueue[_End] = SimpleQueue()
        self._arrived: list[_End] = []  # taken from the inbox; lists, as they are empty most of the time
        self._jobs: list[Callable[[], object]] = []
        self._pending: dict[int, Callable[[], None]] = {}
        self._added = 0

    def __enter__(self) -> Gather[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Dispose those that have not ended."""
        self._scope.detach()
        self._scope.cancel("left")

    def add(self, single: Observable[T]) -> int:
        """Start one more; returns its place. A Single that runs on the subscribing thread has ended then."""
        self._scope.check()
        index, inbox = self._added, self._inbox
        self._added += 1

        def on_value(value: T) -> None:
            inbox.put((index, value, None))

        def on_error(error: Exception) -> None:
            inbox.put((index, None, error))

        if isinstance(single, Single):
            dispose = single.begin(on_value, on_error)
        else:
            dispose = single.subscribe(on_value, on_error).dispose
        self._pending[index] = self._scope.on_cancel(dispose)
        return index

    @property
    def pending(self) -> bool:
        """True while some have not been taken."""
        return bool(self._pending)

    @property
    def has_arrived(self) -> bool:
        """True when `take` would not wait."""
        while not self._arrived and not self._inbox.empty():
            self._sort(self._inbox.get_nowait())
        return bool(self._arrived)

    def take(self) -> tuple[int, T | None, Exception | None]:
        """The next end, in time: the Single's place, and its value or its error. Waits; a cancel leaves by Stopped."""
        while not self._arrived:
            item = self._scope.wait(self._inbox)
            assert item is not None  # no time limit
            self._sort(item)
        self._scope.check()
        index, value, error = self._arrived.pop(0)
        self._pending.pop(index)()
        return index, value, error

    def tell(self, job: Callable[[], object]) -> bool:
        """Have `job` run where `take` waits, before it takes up what comes later. False when too many wait already."""
        if len(self._jobs) >= _MOST_JOBS:
            return False
        self._jobs.append(job)
        self._inbox.put(_TOLD)
        return True

    def _sort(self, item: _End) -> None:
        if item is _TOLD:
            self._jobs.pop(0)()
        else:
            self._arrived.append(item)

    def results(self) -> list[T]:
        """Wait for all; raises the first error."""
        values: dict[int, T] = {}
        while self._pending:
            index, value, error = self.take()
            if error is not None:
                raise error
            values[index] = value  # type: ignore[assignment]  # no error, so a value
        return [values[index] for index in sorted(values)]
