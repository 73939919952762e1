"""EventStream: an Observable to iterate, to await and to read by `async for`; so is all that pipe makes of it."""

from __future__ import annotations

import contextvars
from collections.abc import AsyncIterator, Callable, Generator
from functools import partial
from typing import Any, Protocol, TypeVar, final

from reactivex import Observable, abc

from . import aio
from .dropped import as_raised
from .iteration import Door, Give, Iteration, current_door
from .scope import Stopped
from .workers import workers

__all__ = ["EventStream", "Launch"]

T = TypeVar("T")
Item = tuple[str, Any]


class Launch(Protocol):
    """A source that can start without a subscriber's trampoline, at once, on the calling thread."""

    def launch(self, observer: abc.ObserverBase[Any], door: Door) -> Callable[[], None]:
        """Start; returns the dispose."""
        ...


@final
class EventStream(Observable[T]):
    """A cold stream with five ways to take it: subscribe, `for`, `run()`, `async for`, `await` (the last item).

    The last four subscribe at the first `next`, hold one item, and hold the source back until it is taken; of partial
    events, which nothing is stored for, they hold at most 64 (see Door). Each disposes when it is left: by break,
    close, garbage collection, KeyboardInterrupt, or cancelling the task.

    Disposal: of the subscription; `dispose()` never waits.
    Errors: the source's; the bridges raise them.
    Threads: `on_next` on the source's worker; the bridges hand over to the thread, or loop, of the taker.
    """

    def __init__(self, source: Observable[T], launch: Launch | None = None) -> None:
        super().__init__()
        self._source = source
        self._launch = launch

    def _subscribe_core(
        self, observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        return self._source._subscribe_core(observer)  # no layer, and no foreign scheduler

    def pipe(self, *operators: Callable[[Any], Any]) -> Any:
        """As Observable's; an Observable that comes out is an EventStream again."""
        result = super().pipe(*operators)
        return EventStream(result) if type(result) is Observable else result

    def __add__(self, other: Observable[T]) -> EventStream[T]:
        return EventStream(super().__add__(other))

    def run(self) -> Iteration[T]:  # type: ignore[override]  # the inherited one leaks its source
        """Iterate in blocking code: `for item in stream.run()`; the same as iterating the stream."""
        return Iteration(self._open)

    def __iter__(self) -> Iteration[T]:
        return Iteration(self._open)  # the inherited __getitem__ would make an endless loop of streams

    def __aiter__(self) -> AsyncIterator[T]:
        door = Door()
        items = self._take(door)
        door.leave_with(items)  # at once: the loop calls aclose later, or never
        return items

    async def _take(self, door: Door) -> AsyncIterator[T]:
        items = aio.LoopInbox[Item | None]()
        door.loop, door.taker = items.loop, aio.current_taker()
        door.take_part()
        give = items.put_threadsafe(door.scope)
        door.wake = partial(give, None)
        off = door.scope.on_cancel(lambda: give(("end", None)))  # stopped with an enclosing run
        try:
            self._open(give, door)
            while True:
                item = None
                while item is None:
                    item = await items.get(door.patience())
                kind, value = item
                door.took()
                if kind == "error":
                    raise as_raised(value)
                if kind == "end":
                    return
                yield value
        finally:
            off()
            door.close()

    def __await__(self) -> Generator[Any, None, T | None]:  # type: ignore[override]  # None: the stream was empty
        async def last() -> T | None:
            item: T | None = None
            async for item in self:  # noqa: B007 - the last one counts
                pass
            return item

        return last().__await__()

    def _open(self, give: Give, door: Door) -> None:
        """Start; `give((kind, value))` whenever the door has room."""
        giver = _Giver(give, door)

        if self._launch is not None:  # no operators in between: the turn is taken on this thread, only the work moves
            dispose = self._launch.launch(giver, door)
            door.scope.on_cancel(dispose)
            return
        context = contextvars.copy_context()
        context.run(current_door.set, door)

        def job() -> None:
            try:
                handle = self.subscribe(giver)
                door.scope.on_cancel(handle.dispose)
            except BaseException as error:
                give(("error", error))
                if not isinstance(error, Exception):
                    raise

        workers.spawn(job, context)


@final
class _Giver(abc.ObserverBase[Any]):
    """Passes on what its door lets through."""

    __slots__ = ("_door", "_give")

    def __init__(self, give: Give, door: Door) -> None:
        self._give = give
        self._door = door

    def on_next(self, value: Any) -> None:
        try:
            self._door.await_room(value)
        except Stopped:
            return
        self._give(("next", value))

    def on_error(self, error: Exception) -> None:
        self._door.is_complete = True
        self._give(("error", error))

    def on_completed(self) -> None:
        self._door.is_complete = True
        self._give(("end", None))
