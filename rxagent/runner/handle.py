"""RunHandle: a run that was started, and says how it ended."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Final, final

from reactivex import Observer

from rxagent.errors import UsageError
from rxagent.events import Event
from rxagent.invocation import Outcome, StopDepth, Usage
from rxagent.streams import aio
from rxagent.streams.iteration import Door

from .nesting import refuse_self_wait
from .run import Run, RunState
from .spec import RunSpec

__all__ = ["RunHandle", "RunState"]

_MOST_PARTIALS: Final = 256
_ASK_AGAIN: Final = 0.05  # seconds; only while the run waits for the one before it


@final
class RunHandle:
    """A started run: read its events, dispose it, wait for its end.

    It never holds back its run: events wait here for the first iteration, final ones always, of the partial ones at
    most 256 (then the oldest go). One consumer per handle. As a context manager, leaving the block disposes, and
    waits at most the grace period; on an event loop's thread use `async with`.
    """

    __slots__ = ("_grace", "_id", "_is_read", "_items", "_run")

    def __init__(self, spec: RunSpec) -> None:
        self._items = _Waiting()
        door = Door(aio.running_loop() or aio.home_loop.get())
        observer = Observer(self._items.event, self._items.error, self._items.completed)
        self._run = Run(spec, observer, door)
        door.scope.on_cancel(self._items.completed)  # a disposed run tells no end
        self._grace = spec.run_config.cancel_grace_period
        self._is_read = False
        self._id = self._run.invocation.id  # the opening may find that an earlier invocation goes on
        self._run.start()

    # -- how it stands -------------------------------------------------------------------------------------------------

    @property
    def run_id(self) -> str:
        """Names this run, from its start on: the store knows its turn by it. See `request_stop` of the service."""
        return self._id

    @property
    def invocation_id(self) -> str:
        """What its events carry: the run's id, or, once it is open, that of the invocation which it resumes."""
        return self._run.invocation.id

    @property
    def state(self) -> RunState:
        """waiting (for the session's turn), running, stopping (decided, work still out), ended."""
        return self._run.state

    @property
    def outcome(self) -> Outcome | None:
        """None until the fate is decided; kind and reason are then fixed, the counts when `wait` has returned."""
        return self._run.outcome

    @property
    def usage(self) -> Usage:
        """The tokens so far."""
        return self._run.invocation.usage

    # -- stopping and waiting ------------------------------------------------------------------------------------------

    def dispose(self) -> None:
        """Leave: nothing more is appended or emitted. From any thread, at any time, twice; never waits or raises."""
        self._run.dispose()

    def abort(self, reason: str = "user_stop", after: StopDepth = "now") -> None:
        """Ask the run to stop and tell the end of its story: it seals, emits a last event, and completes.

        after: "now", "tool" (running tools finish) or "turn" (the step finishes). From any thread; never waits. A run
        that has said its last already completes as if nobody had asked.
        """
        self._run.abort(reason, after)

    def wait(self, timeout: float | None = None) -> Outcome | None:
        """Wait until the run has ended; its Outcome, or None when it is still going after `timeout` seconds.

        Raises UsageError where it would wait for itself: in a tool, callback or `on_next` of the same session.
        """
        with aio.blocking_wait(None if self._run.ended.is_set() else self._run.ledger):
            left = timeout
            while not self._run.ended.is_set():
                again = _ASK_AGAIN if refuse_self_wait(self._run) else None
                step = left if again is None else again if left is None else min(again, left)
                if self._run.ended.wait(step):
                    break
                if left is not None:
                    left -= step or 0.0
                    if left <= 0:
                        return None
            return self._run.outcome

    def __enter__(self) -> RunHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispose()
        if not aio.on_loop_thread():
            self._run.ended.wait(self._grace + 1.0)

    async def aclose(self) -> None:
        """Dispose, and wait at most the grace period without blocking the loop."""
        self.dispose()
        await aio.in_thread(self._run.ended.wait, self._grace + 1.0)

    async def __aenter__(self) -> RunHandle:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # -- reading -------------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        if self._is_read:
            raise UsageError("this handle is being read already; subscribe to run_async for several consumers")
        self._is_read = True

    def __iter__(self) -> Iterator[Event]:
        """The events; raises the run's error. Breaking out does not dispose: leave the `with` block, or `dispose()`."""
        self._read()
        try:
            while True:
                with aio.blocking_wait(self._run.ledger):
                    while not self._items.wait(_ASK_AGAIN if refuse_self_wait(self._run) else None):
                        pass
                kind, value = self._items.take()
                if kind == "end":
                    return
                if kind == "error":
                    raise value
                yield value
        finally:
            self._is_read = False

    async def __aiter__(self) -> AsyncIterator[Event]:
        self._read()
        woken = aio.LoopInbox[bool]()
        self._items.on_item(lambda: woken.put_threadsafe(self._run.scope)(True))
        try:
            while True:
                while not self._items.ready:
                    await woken.get(_ASK_AGAIN if refuse_self_wait(self._run) else None)
                kind, value = self._items.take()
                if kind == "end":
                    return
                if kind == "error":
                    raise value
                yield value
        finally:
            self._items.on_item(None)
            self._is_read = False

    def __repr__(self) -> str:
        outcome = self.outcome
        return f"<RunHandle {self.invocation_id} {self.state}{f': {outcome}' if outcome is not None else ''}>"


@final
class _Waiting:
    """The events that wait for the reader, and the end."""

    __slots__ = ("_ended", "_items", "_lock", "_number", "_on_item", "_partials", "_wake")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: OrderedDict[int, tuple[str, Any]] = OrderedDict()  # by their number: each is found at once
        self._partials: list[int] = []  # the numbers of the partial ones; few, and often none: no deque's 760 bytes
        self._number = 0
        self._ended = False
        self._wake: SimpleQueue[bool] = SimpleQueue()
        self._on_item: Any = None

    def event(self, event: Event) -> None:
        with self._lock:
            if self._ended:
                return
            if event.partial:
                self._partials.append(self._number)
                if len(self._partials) > _MOST_PARTIALS:
                    del self._items[self._partials.pop(0)]
            self._append("next", event)
        self._tell()

    def error(self, error: Exception) -> None:
        self._end("error", error)

    def completed(self) -> None:
        self._end("end", None)

    def on_item(self, callback: Any) -> None:
        """Have `callback` called when something has come, from any thread."""
        self._on_item = callback

    @property
    def ready(self) -> bool:
        return bool(self._items)

    def wait(self, timeout: float | None) -> bool:
        """True when `take` has something; waits at most `timeout` seconds."""
        if self._items:
            return True
        with suppress(Empty):
            self._wake.get(timeout=timeout)
        return bool(self._items)

    def take(self) -> tuple[str, Any]:
        """The oldest item; the end stays, for whoever asks again."""
        with self._lock:
            number, item = next(iter(self._items.items()))
            if item[0] == "next":
                del self._items[number]
                if item[1].partial:
                    self._partials.pop(0)
            return item

    def _end(self, kind: str, value: Any) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
            self._append(kind, value)
        self._tell()

    def _tell(self) -> None:
        self._wake.put(True)
        if (callback := self._on_item) is not None:
            callback()

    def _append(self, kind: str, value: Any) -> None:
        self._items[self._number] = (kind, value)
        self._number += 1
