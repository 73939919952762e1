"""Follow: the frames of a run, from an event on to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Final

from rxagent.sessions import BaseSessionService
from rxagent.streams import aio

from .emitted import EmittedEvents
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
    while True:
        if reader.behind:
            reader.behind = False  # before reading: what comes meanwhile waits in the buffer
            for frames in _chunks(await aio.in_thread(_stored, EmittedEvents(service, run.record), reader.cursor)):
                yield b"".join(frame.data for frame in frames)
                reader.cursor = frames[-1].seq or reader.cursor
        if chunk := reader.take():
            yield chunk
        elif reader.is_ended and not reader.behind:
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
    silence = 0.0
    while True:
        found = await aio.in_thread(find, record.run_id)  # before the log: what it says is over has said it all there
        record = found or record
        is_over = found is None or record.is_over
        frames = await aio.in_thread(_stored, EmittedEvents(service, record), cursor)
        for chunk in _chunks(frames):
            yield b"".join(frame.data for frame in chunk)
            cursor = chunk[-1].seq or cursor
        if is_over:
            break
        silence = 0.0 if frames else silence + _LOOK
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


def _stored(log: EmittedEvents, cursor: int) -> list[Frame]:
    return [event_frame(event) for event in log.behind(cursor)]


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
