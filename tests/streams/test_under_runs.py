"""The streams under real runs: leaving, nesting, loops, forks, and what is kept alive."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
import reactivex
from reactivex import operators as ops

from rxagent.errors import UsageError
from rxagent.streams.workers import workers
from rxagent.testing import call, gate
from rxagent.testing.leaks import quiesce

from .acting import LIMIT, Seen, dropped_errors
from .runs import PARTS, SSE, Ends, runner

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


def test_what_take_lets_through_is_read() -> None:
    """A loop over `take(2)` of a run gets both items each time, though the run is disposed with the second one."""
    ends = Ends()
    chatty = runner(PARTS, ends=ends)
    for turn in range(100):
        taken = chatty.run_async("me", f"s{turn}", "Hi", SSE).pipe(ops.take(2))
        assert len(list(taken.run())) == 2
        assert ends.kind() == "disposed"


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
