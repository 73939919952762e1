"""LiveRun: a run of this process, and everybody who reads it."""

from __future__ import annotations

import asyncio
from typing import Any, Final, Protocol, final

from rxagent.events import Event
from rxagent.invocation import Outcome, StopDepth
from rxagent.runner import RunHandle
from rxagent.streams import drop

from .frames import Frame, event_frame
from .reader import Reader
from .run_record import RunRecord

__all__ = ["Listener", "LiveRun"]

_MOST_RECENT: Final = 1 << 19  # bytes of partial events that are kept for those who come in the middle of a text


class Listener(Protocol):
    """Who keeps the books of runs."""

    def seen(self, event: Event) -> None:
        """A run has emitted an event."""

    async def resumed(self, run: LiveRun, first_seq: int) -> None:
        """The run goes on with an earlier invocation; this is its first stored event. Its readers wait for this."""

    async def ended(self, run: LiveRun) -> None:
        """The run has ended. Its readers wait for this."""


@final
class LiveRun:
    """Takes the run's events as they come and offers them to its readers; no reader can hold it back.

    On the loop of the server; the run itself is elsewhere. last_seq: of its last stored event.
    """

    __slots__ = ("_readers", "_recent", "ended", "handle", "last_seq", "record", "task")

    def __init__(self, handle: RunHandle, record: RunRecord, listener: Listener) -> None:
        self.handle = handle
        self.record = record
        self.ended = asyncio.Event()
        self.last_seq = 0
        self._readers: set[Reader] = set()
        self._recent: bytearray | None = bytearray()
        self.task = asyncio.create_task(self._pump(listener), name=f"rxagent-{record.run_id}")

    @property
    def run_id(self) -> str:
        """The invocation id."""
        return self.record.run_id

    @property
    def outcome(self) -> Outcome | None:
        """How it ended, once it has."""
        return self.handle.outcome

    @property
    def readers(self) -> int:
        """How many read it."""
        return len(self._readers)

    def as_json(self) -> dict[str, Any]:
        """For a client."""
        state = self.handle.state
        return self.record.as_json("stopping" if state == "ended" and self.record.ended_at is None else state)

    def abort(self, reason: str, after: StopDepth = "now") -> None:
        """Ask it to stop; never waits."""
        self.handle.abort(reason, after)

    def attach(self, cursor: int | None = None) -> Reader:
        """A new reader. cursor: the last event that it has, the log tells it those behind; None: from now on."""
        reader = Reader(cursor or 0, behind=cursor is not None)
        if cursor is not None and self._recent:
            reader.offer(Frame(bytes(self._recent), None, self.last_seq))
        if self.ended.is_set():
            reader.end()
        self._readers.add(reader)
        return reader

    def detach(self, reader: Reader) -> None:
        """The reader has gone."""
        self._readers.discard(reader)

    async def _pump(self, listener: Listener) -> None:
        try:
            async for event in self.handle:
                listener.seen(event)
                if event.seq is not None and not self.last_seq and event.invocation_id != self.run_id:
                    await listener.resumed(self, event.seq)
                self._publish(event)
        except Exception as error:
            if self.handle.outcome is None or self.handle.outcome.error is not error:
                drop(error, "a run's events")  # not the run's own error, which its outcome tells
        finally:
            try:
                await listener.ended(self)
            finally:
                self.ended.set()
                for reader in self._readers:
                    reader.end()

    def _publish(self, event: Event) -> None:
        frame = event_frame(event, self.last_seq)
        if frame.seq is not None:
            self.last_seq = frame.seq
            self._recent = bytearray()
        elif self._recent is not None:
            self._recent += frame.data
            if len(self._recent) > _MOST_RECENT:
                self._recent = None  # the beginning of the text is what would be missing: better none of it
        for reader in self._readers:
            reader.offer(frame)
