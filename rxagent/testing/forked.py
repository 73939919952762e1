"""Pieces of work in processes of their own, forked from this one."""

from __future__ import annotations

import json
import os
import select
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, NamedTuple, NoReturn

from .leaks import quiesce

__all__ = ["Ended", "in_children"]

_PIECE: Final = 1 << 16


class Ended(NamedTuple):
    """How a child has ended: with a value; raising, with the traceback as value; killed by a signal; out of time."""

    how: Literal["value", "raised", "killed", "late"]
    value: Any = None


def in_children(jobs: Iterable[Callable[[], Any]], timeout: float) -> list[Ended]:
    """Run each of the jobs in a forked process, all at once, and give what they returned, which must have a JSON form.

    A child has this process's modules and objects, and none of its threads: what rxagent keeps idle is ended before.
    It leaves without the interpreter's last rites. timeout: seconds after which they are killed.
    """
    quiesce()
    children = [_forked(job) for job in jobs]
    deadline = time.monotonic() + timeout
    return [_ended(pid, reading, deadline) for pid, reading in children]


def _forked(job: Callable[[], Any]) -> tuple[int, int]:
    """The child's pid, and where it is to be read."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of threads, also of other libraries'
        pid = os.fork()
    if pid == 0:
        _work(job, writing)
    os.close(writing)
    return pid, reading


def _ended(pid: int, reading: int, deadline: float) -> Ended:
    told = _told(reading, deadline)
    os.close(reading)
    if told is None:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    if told is None:
        return Ended("late")
    return Ended(*json.loads(told)) if told else Ended("killed")


def _work(job: Callable[[], Any], writing: int) -> NoReturn:
    try:
        try:
            told = json.dumps(("value", job()))
        except BaseException:
            told = json.dumps(("raised", traceback.format_exc()))
        with open(writing, "w", encoding="utf-8") as pipe:
            pipe.write(told)
    finally:
        os._exit(0)


def _told(reading: int, deadline: float) -> bytes | None:
    """What the child has written when it ended; None when it has not by then."""
    pieces: list[bytes] = []
    while True:
        readable, _, _ = select.select([reading], [], [], max(deadline - time.monotonic(), 0.0))
        if not readable:
            return None
        piece = os.read(reading, _PIECE)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
