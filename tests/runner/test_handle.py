"""RunHandle: a started run that is read, left, waited for, and says how it ended."""

from __future__ import annotations

import asyncio
import threading

import pytest

from rxagent.errors import UsageError
from rxagent.events import Event
from rxagent.runner import RunHandle
from rxagent.testing.scripted_model import ScriptedModel, call, gate, usage

from .driving import SSE, USER, Ends, Gate, log, runner_of, said


def test_it_starts_at_once() -> None:
    """`start` subscribes at once: the run ends without anybody reading, and its events wait."""
    runner = runner_of([["a", "b"]])
    run = runner.start(USER, "s", "Hi", SSE)
    outcome = run.wait(5)
    assert outcome is not None
    assert (outcome.kind, run.state, run.outcome) == ("completed", "ended", outcome)
    assert said(run) == ["agent~ a", "agent~ b", "agent: ab"]
    assert list(run) == []


def test_it_says_how_it_stands() -> None:
    """waiting, running, stopping, ended; the outcome's kind is known as soon as the fate is decided."""
    held, work = Gate(), Gate()

    def tool() -> None:
        """Work."""
        work()

    runner = runner_of([[held, "One."], [usage(7, 3), call("tool")]], tools=[tool])
    first, second = runner.start(USER, "s", "Hi"), runner.start(USER, "s", "Again")
    assert held.entered.wait(5)
    assert (first.state, second.state) == ("running", "waiting")
    assert (first.outcome, second.outcome, second.wait(0)) == (None, None, None)
    held.opened.set()
    assert work.entered.wait(5)
    assert (first.state, second.state, second.usage.total_tokens) == ("ended", "running", 10)
    second.dispose()
    assert (second.state, second.outcome and second.outcome.kind) == ("stopping", "disposed")
    work.opened.set()
    outcome = second.wait(5)
    assert (second.state, outcome and outcome.usage.total_tokens) == ("ended", 10)
    assert repr(second).startswith(f"<RunHandle {second.invocation_id} ended: disposed")


def test_an_error_is_raised_to_the_reader() -> None:
    """Reading a failed run raises its error behind its events; `wait` returns the outcome and does not raise."""
    error = LookupError("broken")
    run = runner_of([["a", error]]).start(USER, "s", "Hi", SSE)
    seen: list[Event] = []
    with pytest.raises(LookupError) as raised:
        seen.extend(run)
    assert raised.value is error
    outcome = run.wait(5)
    assert outcome is not None
    assert (outcome.kind, outcome.error) == ("failed", error)


def test_it_never_holds_back_its_run() -> None:
    """Unread, it keeps all final events and the newest 256 partials; the oldest partials go."""
    words = [f"{number} " for number in range(300)]
    runner = runner_of([words])
    run = runner.start(USER, "s", "Hi", SSE)
    assert run.wait(5)
    events = list(run)
    assert [event.text for event in events[:-1]] == words[-256:]
    assert events[-1].text == "".join(words)


def test_breaking_out_of_it_does_not_dispose() -> None:
    """Breaking out of the loop over a handle leaves the run alone; a later loop reads on."""
    held = threading.Event()
    run = runner_of([["a", "b", gate(held), "c"]]).start(USER, "s", "Hi", SSE)
    for event in run:
        assert event.text == "a"
        break
    held.set()
    assert said(run) == ["agent~ b", "agent~ c", "agent: abc"]
    outcome = run.wait(5)
    assert outcome is not None
    assert outcome.kind == "completed"


def test_a_dispose_ends_the_loop_of_another_thread() -> None:
    """A dispose from elsewhere ends the loop that reads the handle."""
    run = runner_of([["a", gate(threading.Event())]]).start(USER, "s", "Hi", SSE)
    events = iter(run)
    assert next(events).text == "a"
    other = threading.Timer(0, run.dispose)
    other.start()
    assert list(events) == []
    other.join()
    assert run.wait(5)


def test_the_block_waits_at_most_the_grace() -> None:
    """Leaving the block waits for work that cannot be interrupted, and no longer than the grace."""
    work, ends = Gate(), Ends()

    def tool() -> None:
        """Work."""
        work()

    runner = runner_of([call("tool")], tools=[tool], plugins=[ends])
    with runner.start(USER, "s", "Hi", SSE.model_copy(update={"cancel_grace_period": 0.05})) as run:
        assert work.entered.wait(5)
    assert (run.state, work.left.is_set(), ends.next().kind) == ("ended", False, "disposed")
    work.opened.set()


def test_reading_it_in_asyncio() -> None:
    """`async with` and `async for` read a handle without blocking the loop, and leave by dispose."""
    held = threading.Event()
    runner = runner_of([["a", gate(held), "b"], ["c", gate(threading.Event())]])

    async def main() -> None:
        async with runner.start(USER, "s", "Hi", SSE) as run:
            seen = []
            async for event in run:
                seen.append(event)
                await asyncio.sleep(0)
                held.set()
        assert said(seen) == ["agent~ a", "agent~ b", "agent: ab"]
        async with runner.start(USER, "s", "Hi", SSE) as run:
            async for _ in run:
                break
        assert (run.state, run.outcome and run.outcome.kind) == ("ended", "disposed")

    asyncio.run(main())
    assert said(log(runner)) == ["user: Hi", "agent: ab", "user: Hi"]


def test_a_plain_block_in_asyncio_does_not_wait() -> None:
    """`with` on a loop's thread disposes, and leaves the waiting to `async with`: the loop must go on."""
    started, may_end = threading.Event(), threading.Event()

    async def tool() -> None:
        """Work."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            may_end.set()

    runner = runner_of([call("tool")], tools=[tool])

    async def main() -> RunHandle:
        with runner.start(USER, "s", "Hi") as run:
            await asyncio.to_thread(started.wait, 5)
        assert run.outcome is not None
        await asyncio.to_thread(may_end.wait, 5)
        return run

    run = asyncio.run(main())
    assert run.wait(5)


def test_a_wait_on_the_loop_of_its_own_tool_is_refused() -> None:
    """`wait` on the loop's thread, while a coroutine of the run is under way there, raises instead of hanging."""
    started = asyncio.Event()

    async def tool() -> None:
        """Work."""
        started.set()
        await asyncio.Event().wait()

    runner = runner_of([call("tool")], tools=[tool])

    async def main() -> None:
        async with runner.start(USER, "s", "Hi") as run:
            await started.wait()
            with pytest.raises(UsageError, match="blocks the event loop"):
                run.wait(5)

    asyncio.run(main())


def test_many_waiters() -> None:
    """Any number of threads may wait for one handle."""
    held = threading.Event()
    run = runner_of(ScriptedModel([gate(held), "Done."])).start(USER, "s", "Hi")
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(run.wait(5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    held.set()
    for thread in threads:
        thread.join()
    assert found == [run.outcome] * 4
