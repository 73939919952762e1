"""Follow: the frames of a run, from an event on to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Final, final

from rxagent.sessions import BaseSessionService
from rxagent.streams import aio

from .emitted import EmittedEvents, Page
from .frames import KEEP_ALIVE, Frame, comment, error_frame, event_frame, outcome_frame
from .live_run import LiveRun
from .reader import Reader
from .run_record import RunRecord

__all__ = ["follow_live", "follow_log", "last_frames"]

_LOOK: Final = 0.1  # seconds between two looks at the log of a run that is elsewhere
_CHUNK: Final = 1 << 16


async def follow_live(
    run: LiveRun, reader: Reader, service: BaseSessionService, keep_alive: float
) -> AsyncGenerator[bytes, None]:
    """What the reader of a run of this process is sent, to the last frame."""
    yield comment(run.run_id)
    log = _Log(service)
    while True:
        if reader.behind:
            reader.behind = is_last = False  # before reading: what comes meanwhile waits, or is left to the log again
            while not is_last:
                chunks, is_last = await log.page(run.record, reader.cursor)
                for chunk, seq in chunks:
                    yield chunk
                    reader.cursor = seq
        elif chunk := reader.take():  # never when it has fallen behind again: what the buffer lacks comes first
            yield chunk
        elif reader.is_ended:
            break
        elif not await reader.wait(keep_alive):
            yield KEEP_ALIVE
    yield last_frames(run.record)


async def follow_log(
    record: RunRecord,
    find: Callable[[str], RunRecord | None],
    cursor: int,
    service: BaseSessionService,
    keep_alive: float,
) -> AsyncGenerator[bytes, None]:
    """The frames of a run of another process, or of one that has ended: from the log alone.

    find: looks a run up; blocks. Partial events are not among them.
    """
    yield comment(record.run_id)
    log, silence = _Log(service), 0.0
    while True:
        found = await aio.in_thread(find, record.run_id)  # before the log: what it says is over has said it all there
        record = found or record
        is_over = found is None or record.is_over
        told, is_last = cursor, False
        while not is_last:
            chunks, is_last = await log.page(record, cursor)
            for chunk, seq in chunks:
                yield chunk
                cursor = seq
        if is_over:
            break
        silence = 0.0 if cursor > told else silence + _LOOK
        if silence >= keep_alive:
            silence = 0.0
            yield KEEP_ALIVE
        await asyncio.sleep(_LOOK)
    yield last_frames(record)


def last_frames(record: RunRecord) -> bytes:
    """The end of a stream: the error of a run that failed, and the outcome."""
    outcome = record.as_json().get("outcome") or {"kind": "failed", "reason": "unknown"}
    head = error_frame(outcome.get("error") or str(outcome.get("reason"))) if outcome["kind"] == "failed" else b""
    return head + outcome_frame(record.run_id, record.invocation_id, outcome)


@final
class _Log:
    """The log of a run, read page by page: a reader that is far behind must not cost the memory of all that it lacks.

    _looked_at: the end of what was read: between the last event that was sent and that one there is none of the run.
    """

    __slots__ = ("_looked_at", "_record", "_service")

    def __init__(self, service: BaseSessionService) -> None:
        self._service = service
        self._record: RunRecord | None = None
        self._looked_at = 0

    async def page(self, record: RunRecord, cursor: int) -> tuple[list[tuple[bytes, int]], bool]:
        """What to send, each with the number of its last event, of one page; and whether the log ends with it.

        cursor: the number of the last event that was sent. Who has asked for a page sends it before the next one.
        """
        before = self._record
        if before is None or (before.invocation_id, before.first_seq) != (record.invocation_id, record.first_seq):
            self._looked_at = 0  # what was no event of the run may be one
        self._record = record
        page, chunks = await aio.in_thread(_read, EmittedEvents(self._service, record), max(cursor, self._looked_at))
        self._looked_at = page.end
        return chunks, page.is_last


def _read(log: EmittedEvents, seq: int) -> tuple[Page, list[tuple[bytes, int]]]:
    page = log.page(seq)
    groups = _chunks([event_frame(event) for event in page.events])
    return page, [(b"".join(frame.data for frame in group), group[-1].seq or 0) for group in groups]


def _chunks(frames: list[Frame]) -> list[list[Frame]]:
    """The frames in groups that are sent at once."""
    groups: list[list[Frame]] = []
    size = _CHUNK
    for frame in frames:
        if size >= _CHUNK:
            groups.append([])
            size = 0
        groups[-1].append(frame)
        size += len(frame.data)
    return groups
