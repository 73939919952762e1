"""The streams under real runs: leaving, nesting, loops, forks, and what is kept alive."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from queue import SimpleQueue
from typing import Any

import pytest
import reactivex
from reactivex import operators as ops

from rxagent.agents import LlmAgent
from rxagent.errors import UsageError
from rxagent.invocation import InvocationContext, Outcome, RunConfig
from rxagent.plugins import BasePlugin
from rxagent.runner import Runner
from rxagent.streams.workers import workers
from rxagent.testing import ScriptedModel, call, gate
from rxagent.testing.leaks import quiesce

from .acting import LIMIT, Seen, dropped_errors, took

SSE = RunConfig(streaming_mode="sse")
PARTS = ["a", "b", "c", "d", "e", "f"]


class Ends(BasePlugin):
    """The outcomes, as they come, and the runs, held weakly."""

    def __init__(self) -> None:
        super().__init__("ends")
        self.outcomes: SimpleQueue[Outcome] = SimpleQueue()
        self.runs: list[weakref.ref[Any]] = []

    def on_run_end(self, ctx: InvocationContext, outcome: Outcome) -> None:
        ledger: Any = ctx.invocation.ledger
        self.runs.append(weakref.ref(ledger._on_empty.__self__))  # the run itself
        self.outcomes.put(outcome)

    def kind(self) -> str:
        return str(took(self.outcomes).kind)


def runner(*turns: Any, tools: tuple[Any, ...] = (), ends: Ends | None = None) -> Runner:
    model = ScriptedModel(*turns, repeat_last=True)
    return Runner(LlmAgent(name="agent", model=model, tools=tools), plugins=() if ends is None else (ends,))


# -- leaving, and the next run -----------------------------------------------------------------------------------------


def test_next_run_after_a_break() -> None:
    """After a break the next run of the session is waited for, not refused as if the loop were still open."""
    ends = Ends()
    chatty = runner(PARTS, ends=ends)
    for turn in range(100):
        for _ in chatty.run("me", f"s{turn}", "Hi", SSE):
            break
        assert len(list(chatty.run("me", f"s{turn}", "Hi", SSE))) == 7
        assert {ends.kind(), ends.kind()} == {"completed", "disposed"}


def test_next_run_after_an_async_break() -> None:
    """So it is after a break in `async for`, though the loop closes the generator later."""
    ends = Ends()
    chatty = runner(PARTS, ends=ends)

    async def main() -> None:
        for turn in range(50):
            async for _ in chatty.run_async("me", f"s{turn}", "Hi", SSE):
                break
            assert len([event async for event in chatty.run_async("me", f"s{turn}", "Hi", SSE)]) == 7
            assert len(list(chatty.run("me", f"s{turn}", "Hi", SSE))) == 7

    asyncio.run(main())


def test_open_loop_refuses() -> None:
    """While a loop over a run of the session is open on this thread, waiting for the next one is refused."""
    ends = Ends()
    chatty = runner(PARTS, ends=ends)
    items = chatty.run("me", "s", "Hi", SSE)
    next(items)
    with pytest.raises(UsageError, match="finish or close that loop"):
        list(chatty.run("me", "s", "Hi", SSE))
    with pytest.raises(UsageError, match="finish or close that loop"):
        list(chatty.run_async("me", "s", "Hi", SSE).pipe(ops.start_with("x", "y")))
    items.close()
    assert len(list(chatty.run("me", "s", "Hi", SSE))) == 7


def test_take_stops_a_run() -> None:
    """`take(1)` disposes a run 200 times of 200, and what is concatenated to it never starts."""
    ends, after = Ends(), []
    chatty = runner(PARTS, ends=ends)
    for turn in range(200):
        run = chatty.run_async("me", f"s{turn}", "Hi", SSE)
        then: Any = reactivex.defer(lambda _: (after.append(1), reactivex.empty())[1])
        Seen().of(reactivex.concat(run, then).pipe(ops.take(1))).wait()
        assert ends.kind() == "disposed"
    assert after == []


def test_piped_run_is_awaited() -> None:
    """A run behind operators is iterated, read by `async for` and awaited like a run."""
    partials = runner(PARTS).run_async("me", "s", "Hi", SSE).filter(lambda event: bool(event.partial))
    source: Any = partials.map(lambda _: 1)
    assert list(source) == [1] * 6

    async def main() -> tuple[list[int], Any]:
        return [item async for item in source], await source

    assert asyncio.run(main(), debug=True) == ([1] * 6, 1)


# -- coroutines --------------------------------------------------------------------------------------------------------


class AsyncTool:
    """An async tool that waits until it is cancelled."""

    def __init__(self) -> None:
        self.started, self.cancelled = threading.Event(), threading.Event()
        self.threads: list[str] = []

    async def work(self) -> str:
        """Wait."""
        self.threads.append(threading.current_thread().name)
        self.started.set()
        try:
            await asyncio.sleep(LIMIT)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "done"


def test_task_cancel_reaches_the_tool() -> None:
    """Cancelling the task that reads disposes the run, and its async tool is cancelled on the same loop."""
    ends, tool = Ends(), AsyncTool()
    working = runner([call("work")], "Done.", tools=(tool.work,), ends=ends)

    async def main() -> None:
        async def read() -> None:
            async for _ in working.run_async("me", "s", "Hi"):
                pass

        task = asyncio.ensure_future(read())
        await asyncio.to_thread(tool.started.wait, LIMIT)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(ends.kind) == "disposed"

    asyncio.run(main())
    assert tool.cancelled.is_set()
    assert tool.threads == [threading.current_thread().name]


def test_loop_closed_under_a_tool() -> None:
    """When the loop is closed under an async tool the run ends, and does not wait for it."""
    ends, tool = Ends(), AsyncTool()
    working = runner([call("work")], "Done.", tools=(tool.work,), ends=ends)

    async def main() -> None:
        handles.append(working.start("me", "s", "Hi"))
        await asyncio.to_thread(tool.started.wait, LIMIT)

    handles: list[Any] = []
    asyncio.run(main())
    assert handles[0].wait(LIMIT) is not None
    assert tool.cancelled.is_set()


def test_nested_blocking_run() -> None:
    """Coroutines of a run that a tool iterates go to the background loop, those of the run itself to the caller's."""
    places: list[str] = []

    async def where() -> str:
        """Where."""
        places.append(threading.current_thread().name)
        return "there"

    inner = runner([call("where")], "Inner.", tools=(where,))

    def nested() -> int:
        """Run another one."""
        return len(list(inner.run("me", "inner", "Hi")))

    outer = runner([call("nested")], [call("where")], "Outer.", tools=(nested, where))

    async def main() -> None:
        assert [event async for event in outer.run_async("me", "outer", "Hi")]

    asyncio.run(main())
    assert places == ["rxagent-loop", threading.current_thread().name]


def test_blocking_run_on_a_loop() -> None:
    """A blocking run in a coroutine of the user uses the background loop, and ends."""
    tool_threads: list[str] = []

    async def where() -> str:
        """Where."""
        tool_threads.append(threading.current_thread().name)
        return "there"

    working = runner([call("where")], "Done.", tools=(where,))

    async def main() -> int:
        return len(list(working.run("me", "s", "Hi")))

    assert asyncio.run(main()) == 3
    assert tool_threads == ["rxagent-loop"]


def test_blocking_run_in_a_tool_on_the_background_loop() -> None:
    """A blocking run inside an async tool of the background loop is refused, at once."""
    refused: list[str] = []
    inner = runner("Inner.")

    async def nested() -> str:
        """Block."""
        try:
            list(inner.run("me", "inner", "Hi"))
        except UsageError as error:
            refused.append(str(error))
        return "refused"

    assert len(list(runner([call("nested")], "Outer.", tools=(nested,)).run("me", "outer", "Hi"))) == 3
    assert len(refused) == 1


def test_wait_for_a_run_whose_coroutine_is_on_this_loop() -> None:
    """Waiting for a run whose async tool is under way on the waiting loop is refused, at once."""
    tool = AsyncTool()
    working = runner([call("work")], "Done.", tools=(tool.work,))

    async def main() -> None:
        async with working.start("me", "s", "Hi") as handle:
            await asyncio.to_thread(tool.started.wait, LIMIT)
            with pytest.raises(UsageError, match="coroutine of the run"):
                handle.wait()

    asyncio.run(main())
    assert tool.cancelled.is_set()


# -- without threads ---------------------------------------------------------------------------------------------------


def refuse(self: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_dispose_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dispose works when no thread is to be had, of a run at work and of one that waits for its turn."""
    started, ends = threading.Event(), Ends()
    working = runner([lambda _: started.set(), gate(threading.Event())], ends=ends)
    first = working.start("me", "s", "Hi")
    second = working.start("me", "s", "Hi")
    assert started.wait(LIMIT)
    quiesce()
    with dropped_errors(), monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        workers._idle.clear()
        second.dispose()
        first.dispose()
        assert [handle.wait(LIMIT) is not None for handle in (first, second)] == [True, True]
    assert {ends.kind(), ends.kind()} == {"disposed"}


def test_run_without_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that gets no thread fails with that error; the next one works."""
    plain = runner("Hello.")
    quiesce()
    with dropped_errors(), monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        seen = Seen().of(plain.run_async("me", "s", "Hi"))
        assert seen.wait() == "x"
        assert "can't start new thread" in str(seen.error)
    assert len(list(plain.run("me", "s", "Hi"))) == 1


# -- what is kept alive ------------------------------------------------------------------------------------------------


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


# -- fork --------------------------------------------------------------------------------------------------------------

FORK = """
    import asyncio, os, sys, threading
    from rxagent.agents import LlmAgent
    from rxagent.invocation import RunConfig
    from rxagent.runner import Runner
    from rxagent.testing import ScriptedModel, call

    async def work() -> str:
        "Work."
        await asyncio.sleep(0)
        return "done"

    def runner():
        turns = [[call("work")], ["a", "b", "c"]]
        return Runner(LlmAgent(name="agent", model=ScriptedModel(*turns, repeat_last=True), tools=[work]))

    def all_of_it(name):
        one = runner()
        assert len(list(one.run("me", name, "Hi"))) == 3
        for _ in one.run("me", name + "2", "Hi", RunConfig(streaming_mode="sse")):
            break
        handle = one.start("me", name + "3", "Hi")
        handle.dispose()
        assert handle.wait(5) is not None
        async def main():
            return await one.run_async("me", name + "4", "Hi")
        assert asyncio.run(main()) is not None

    all_of_it("parent")
    names = sorted(thread.name.rstrip("0123456789") for thread in threading.enumerate())
    assert {"rxagent-worker-", "rxagent-timer", "rxagent-reaper", "rxagent-loop"} <= set(names), names
    child = os.fork()
    if not child:
        try:
            all_of_it("child")
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
    _, status = os.waitpid(child, 0)
    all_of_it("parent again")
    print("child", status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_fork() -> None:
    """A forked child of a process with warm workers, timer, reaper and loop runs agents, and so does its parent."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FORK)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "child 0", done.stderr
