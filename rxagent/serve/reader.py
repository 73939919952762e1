"""Reader: somebody who reads a run, perhaps slowly, perhaps not at all."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Final, final

from .frames import Frame

__all__ = ["Reader"]

_MOST_PARTIALS: Final = 256
_MOST_STORED: Final = 64
_MOST_BYTES: Final = 1 << 20
_CHUNK: Final = 1 << 16  # bytes that are sent at once


@final
class Reader:
    """A bounded buffer between a run and one connection. On one event loop.

    Partial events beyond the bound go, the oldest first. When stored ones are beyond it, the buffer is emptied and
    the reader is `behind`: the log has them, and it is read from `cursor` on.

    cursor: the number of the last stored event that was handed out. dropped: partial events that were lost.
    """

    __slots__ = ("_began_at", "_bytes", "_frames", "_partials", "_wake", "behind", "cursor", "dropped", "is_ended")

    def __init__(self, cursor: int = 0, *, behind: bool = False) -> None:
        self.cursor = self._began_at = cursor  # may lie behind the run's message, whose number is not known here
        self.behind = behind
        self.dropped = 0
        self.is_ended = False
        self._frames: deque[Frame] = deque()
        self._partials = 0
        self._bytes = 0
        self._wake = asyncio.Event()

    def offer(self, frame: Frame) -> None:
        """An event has come. Never waits."""
        self._frames.append(frame)
        self._bytes += len(frame.data)
        self._partials += frame.seq is None
        if self._partials > _MOST_PARTIALS or self._bytes > _MOST_BYTES:
            self._drop_partials()
        if len(self._frames) - self._partials > _MOST_STORED or (self._bytes > _MOST_BYTES and len(self._frames) > 1):
            self._fall_behind()
        self._wake.set()

    def end(self) -> None:
        """Nothing more comes."""
        self.is_ended = True
        self._wake.set()

    def take(self) -> bytes:
        """The next frames, joined; empty when there is none. Advances the cursor."""
        chunk = bytearray()
        while self._frames and len(chunk) < _CHUNK:
            frame = self._frames.popleft()
            self._bytes -= len(frame.data)
            self._partials -= frame.seq is None
            if frame.seq is not None:
                if frame.seq <= self.cursor:
                    continue  # the log has told it
                self.cursor = frame.seq
            elif frame.after < self.cursor and (frame.after or self.cursor != self._began_at):
                continue  # its whole has been told
            chunk += frame.data
        return bytes(chunk)

    async def wait(self, seconds: float) -> bool:
        """Wait until something has come; False when nothing has in that time."""
        if not (self._frames or self.is_ended or self.behind):
            self._wake.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), seconds)
        return bool(self._frames or self.is_ended or self.behind)

    def _drop_partials(self) -> None:
        """Drop the older half at once: one at a time would cost a walk for each."""
        goes = (self._partials + 1) // 2
        kept: deque[Frame] = deque()
        for frame in self._frames:
            if goes and frame.seq is None:
                goes -= 1
                self.dropped += 1
                self._partials -= 1
                self._bytes -= len(frame.data)
            else:
                kept.append(frame)
        self._frames = kept

    def _fall_behind(self) -> None:
        self.dropped += self._partials
        self._frames.clear()
        self._partials = self._bytes = 0
        self.behind = True
