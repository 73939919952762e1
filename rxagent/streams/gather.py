"""Gather: several Singles under way at once, their results in the order in which they were started."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, final

from .scope import CancelScope
from .single import Single

__all__ = ["Gather"]

T = TypeVar("T")


@final
class Gather(Generic[T]):
    """Starts Singles as they are added, and waits for all of them in blocking code.

        add      a b c
        ends     --c---a-b
        results  ---------[a, b, c]

    Leaving the `with` block disposes those that have not ended. The first error, in time, is raised by `results`.
    Threads: add and results on one thread; the Singles complete on whichever thread they like, and nothing of the
    adder's runs there.
    """

    def __init__(self, scope: CancelScope) -> None:
        self._scope = scope.child()
        self._inbox: SimpleQueue[tuple[int, Any, Exception | None]] = SimpleQueue()
        self._pending: dict[int, Callable[[], None]] = {}
        self.values: list[T | None] = []
        """What has arrived so far, in order; None stands for a Single that has not ended."""

    def __enter__(self) -> Gather[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self._scope.detach()
        self._scope.cancel("left")

    def add(self, single: Single[T]) -> None:
        """Start one more. A Single that runs in the subscribing thread has ended when this returns."""
        self._scope.check()
        index, inbox = len(self.values), self._inbox
        self.values.append(None)
        handle = single.subscribe(
            lambda value: inbox.put((index, value, None)), lambda error: inbox.put((index, None, error))
        )
        self._pending[index] = self._scope.on_cancel(handle.dispose)

    @property
    def is_done(self) -> bool:
        """True when all that were added have ended. Takes in what has arrived; raises an error that has."""
        while self._pending and not self._inbox.empty():
            self._take()
        return not self._pending

    def results(self) -> list[T]:
        """Wait for all; raises the first error. A cancel of the scope leaves by Stopped."""
        while self._pending:
            self._take()
        return list(self.values)  # type: ignore[arg-type]  # all have arrived

    def _take(self) -> None:
        item = self._scope.wait(self._inbox)
        assert item is not None  # no time limit
        index, value, error = item
        self._pending.pop(index)()
        if error is not None:
            raise error
        self.values[index] = value
