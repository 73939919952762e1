"""What an ended run leaves behind: nothing."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from typing import Any

import pytest

from rxagent.invocation import RunConfig
from rxagent.runner import Runner
from rxagent.streams.workers import workers
from rxagent.testing import gate
from rxagent.testing.leaks import quiesce

from .acting import LIMIT, Seen
from .runs import PARTS, SSE, Ends, runner


def alive(runs: list[weakref.ref[Any]]) -> int:
    gc.collect()
    return sum(run() is not None for run in runs)


def test_chained_turns_keep_nothing() -> None:
    """500 turns, each started in on_completed of the one before, keep no earlier run alive."""
    ends, over = Ends(), threading.Event()
    chained = runner("Hello.", ends=ends)
    left = [500]

    def turn() -> None:
        left[0] -= 1
        if left[0] < 0:
            over.set()
        else:
            chained.run_async("me", f"s{left[0]}", "Hi").subscribe(None, None, turn)

    turn()
    assert over.wait(60)
    workers.end_idle()
    assert (len(ends.runs), alive(ends.runs)) == (500, 0)


@pytest.mark.parametrize("how", ["subscribe", "run", "break", "async", "start", "dispose"])
def test_an_ended_run_is_not_kept(how: str) -> None:
    """Nothing keeps an ended run alive: no idle worker, no deadline, no bridge, however it was taken."""
    ends = Ends()
    plain = runner(PARTS, ends=ends)
    _take(how, plain)
    ends.kind()
    for _ in range(200):
        if not alive(ends.runs):
            break
        threading.Event().wait(0.005)  # the worker is on its way to its rest
    assert alive(ends.runs) == 0
    assert any(thread.name.startswith("rxagent-worker") for thread in threading.enumerate())


def _take(how: str, plain: Runner) -> None:
    if how == "subscribe":
        Seen().of(plain.run_async("me", "s", "Hi", SSE)).wait()
    elif how == "run":
        list(plain.run("me", "s", "Hi", SSE))
    elif how == "break":
        for _ in plain.run("me", "s", "Hi", SSE):
            break
    elif how == "async":
        asyncio.run(_last(plain))
    elif how == "start":
        assert plain.start("me", "s", "Hi", SSE).wait(LIMIT) is not None
    else:
        handle = plain.start("me", "s", "Hi", SSE)
        handle.dispose()
        assert handle.wait(LIMIT) is not None


async def _last(plain: Runner) -> None:
    await plain.run_async("me", "s", "Hi", SSE)


def test_grace_of_an_ended_run() -> None:
    """The grace of a run that has left in time keeps neither the timer's thread nor `quiesce` waiting."""
    started, ends = threading.Event(), Ends()
    working = runner([lambda _: started.set(), gate(threading.Event())], ends=ends)
    handle = working.start("me", "s", "Hi", RunConfig(cancel_grace_period=30))
    assert started.wait(LIMIT)
    handle.dispose()
    assert handle.wait(LIMIT) is not None
    quiesce()
    assert not any(thread.name == "rxagent-timer" for thread in threading.enumerate())
