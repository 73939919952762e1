"""What a stopped run leaves: scenarios, written once and played on rxagent and, in its own interpreter, on google-adk.

Each plays one scenario and gives the log as letters: U the user, C calls, R real responses, X made-up ones, A a bare
event that tells of the abort, T text, H half a text, E an error event, W a warning. Behind a bar: what else is to be
told. The numbers are those of a survey of google-adk 2.13's behaviour; 17, a workflow graph, has no counterpart here.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable

from . import one_run
from .scene import LIMIT, SILENT, Scenario, System, World, aborted_when, bounded, call, next_turn, read, soon, wait_for

__all__ = ["ROWS", "played"]


async def row_9(s: System) -> str:
    """the reading task is cancelled in a tool"""
    one = Scenario(s, [[call("slow")]], "slow")
    task = asyncio.create_task(read(s.stream(one.runner, "Hi")))
    await one.in_tool()
    task.cancel()
    await asyncio.wait([task])
    return await one.told()


async def row_9b(s: System) -> str:
    """abort, and then the task is cancelled"""
    one = Scenario(s, [[call("slow")]], "slow")
    signal = s.signal()
    task = asyncio.create_task(read(s.stream(one.runner, "Hi", signal=signal)))
    await one.in_tool()
    signal.set()
    await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.wait([task])
    return await one.told()


async def row_10(s: System) -> str:
    """two runs on one session at once"""
    one = Scenario(s, [[call("fast", "1")], [call("fast", "2")]], "fast", file=True)
    await asyncio.gather(read(s.stream(one.runner, "One")), read(s.stream(one.runner, "Two")))
    return await one.told()


async def row_11(s: System) -> str:
    """a slow consumer of 2,000 partial events aborts at the first"""
    one = Scenario(s, [[f"{number} " for number in range(2000)]])
    signal, seen = s.signal(), 0
    async for _ in s.stream(one.runner, "Hi", signal=signal, partial=True):
        seen += 1
        if seen == 1:
            await asyncio.sleep(0.3)
            signal.set()
            await asyncio.sleep(0.05)  # the signal is looked at, not pushed
    return await one.told("events after the abort: " + ("a few" if seen < 500 else "more than 500"))


async def row_12(s: System) -> str:
    """a tool raises, beside one that has finished"""
    one = Scenario(s, [[call("fast", "1"), call("broken", "2")]], "fast", "broken")
    await read(s.stream(one.runner, "Hi"))
    return await one.told()


async def row_12b(s: System) -> str:
    """the model raises in mid-stream"""
    one = Scenario(s, [["half ", ValueError("down")]])
    await read(s.stream(one.runner, "Hi", partial=True))
    return await one.told()


async def row_13(s: System) -> str:
    """an asyncio.Event that a plain thread sets, in a silent model call"""
    one = Scenario(s, [[SILENT, "late"]])
    signal, moments = asyncio.Event(), list[float]()

    def stop() -> None:
        time.sleep(0.2)
        moments.append(time.monotonic())
        signal.set()

    setter = threading.Thread(target=stop)
    setter.start()
    await read(s.stream(one.runner, "Hi", signal=signal))
    took = time.monotonic() - moments[0]
    setter.join()
    return await one.told(bounded(took))


async def row_14(s: System) -> str:
    """kill -9 in a tool, then a message"""
    runner, agent = s.crashed(False)
    log = await s.log(runner)
    following = await next_turn(s, runner, agent)
    return f"{log} | {following} | then {(await s.log(runner)).removeprefix(log).strip()}"


async def row_14b(s: System) -> str:
    """kill -9 in a tool, resumable, resumed by id twice"""
    runner, agent = s.crashed(True)
    invocation = await s.first_invocation(runner)
    await read(s.stream(runner, None, invocation_id=invocation))
    once, calls = await s.log(runner), s.model_calls(agent)
    await read(s.stream(runner, None, invocation_id=invocation))
    return f"{once} | model calls of the second resume: {s.model_calls(agent) - calls}"


async def resumed(s: System, one: Scenario) -> None:
    first = await s.first_invocation(one.runner)
    await read(s.stream(one.runner, None, invocation_id=first))


async def row_15(s: System) -> str:
    """abort in a tool, resumable, resumed by id"""
    one = Scenario(s, [[call("slow")]], "slow", resumable=True)
    await aborted_when(s, one.runner, one.in_tool)
    await resumed(s, one)
    return f"{await s.log(one.runner)} | the tool ran {len(one.world.done)} times to its end"


async def row_15b(s: System) -> str:
    """the task is cancelled in a tool, resumable, resumed by id"""
    one = Scenario(s, [[call("slow")]], "slow", resumable=True)
    task = asyncio.create_task(read(s.stream(one.runner, "Hi")))
    await one.in_tool()
    task.cancel()
    await asyncio.wait([task])
    await resumed(s, one)
    return f"{await s.log(one.runner)} | the tool ran {len(one.world.done)} times to its end"


async def row_16(s: System) -> str:
    """a long-running tool that gives an interim value"""
    world = World()
    agent = s.agent("agent", [[call("pending")], ["Asked."], ["Back."]], [s.long_running(world.pending)])
    runner = s.runner(agent)
    await read(s.stream(runner, "Hi"))
    return f"{await s.log(runner)} | {await next_turn(s, runner, agent)}"


async def row_20(s: System) -> str:
    """an append to a session that is stale, and one with an old time"""
    one = Scenario(s, [], file=True)
    await read(s.stream(one.runner, "Hi"))
    return await s.append_stale(one.runner)


async def row_21(s: System) -> str:
    """the append of a tool's response fails"""
    one = Scenario(s, [[call("fast")]], "fast")
    failed: list[str] = []

    async def hook(kind: str) -> None:
        if kind == "R" and not failed:
            failed.append(kind)
            raise OSError("the disk is full")

    s.on_append(one.runner, hook)
    await read(s.stream(one.runner, "Hi"))
    return await one.told(f"done: {one.world.done}")


async def row_22(s: System) -> str:
    """the task is cancelled while the seal is being written"""
    one = Scenario(s, [[call("slow")]], "slow")
    writing = threading.Event()

    async def hook(kind: str) -> None:
        if kind == "X":
            writing.set()
            await asyncio.sleep(0.2)

    s.on_append(one.runner, hook)
    signal = s.signal()
    task = asyncio.create_task(read(s.stream(one.runner, "Hi", signal=signal)))
    await one.in_tool()
    signal.set()
    with contextlib.suppress(TimeoutError):
        await wait_for(writing)
    task.cancel()
    await asyncio.wait([task])
    await asyncio.sleep(0.4)
    return await one.told()


async def row_23(s: System) -> str:
    """a server that uses the id `c1` twice, abort in the second"""
    one = Scenario(s, [[call("again", "c1", number=1)], [call("again", "c1", number=2)]], "again")
    await aborted_when(s, one.runner, one.in_tool)
    return await one.told()


async def row_43(s: System) -> str:
    """the same id twice in one answer, one of them slow"""
    one = Scenario(s, [[call("again", "c1", number=1), call("again", "c1", number=2)]], "again")
    await aborted_when(s, one.runner, one.in_tool)
    return await one.told()


async def row_24(s: System) -> str:
    """the blocking iterator is closed in a tool"""
    one = Scenario(s, [[call("slow")]], "slow")

    def use() -> None:
        events = s.run(one.runner, "Hi")
        next(events)
        events.close()

    await asyncio.to_thread(use)
    return await one.told()


async def row_33(s: System) -> str:
    """abort while a response is being appended"""
    one = Scenario(s, [[call("fast")], [SILENT, "late"]], "fast")
    writing = threading.Event()

    async def hook(kind: str) -> None:
        if kind == "R":
            writing.set()
            await asyncio.sleep(0.2)

    s.on_append(one.runner, hook)

    async def in_append() -> None:
        await wait_for(writing)

    await aborted_when(s, one.runner, in_append)
    return await one.told()


async def row_36(s: System) -> str:
    """abort, the next turn at once, while the tool unwinds for 0.5 s"""
    one = Scenario(s, [[call("unwinding")]], "unwinding", file=True)
    signal = s.signal()
    first = asyncio.create_task(read(s.stream(one.runner, "Hi", signal=signal)))
    await one.in_tool()
    signal.set()
    await asyncio.sleep(0.02)
    await read(s.stream(one.runner, "More"))
    await first
    return await one.told()


async def row_37(s: System) -> str:
    """the next message while a tool runs"""
    one = Scenario(s, [[call("slow")]], "slow", file=True)
    first = asyncio.create_task(read(s.stream(one.runner, "Hi")))
    await one.in_tool()
    await read(s.stream(one.runner, "More"))
    await first
    return await one.told()


async def row_40(s: System) -> str:
    """a consumer that is busy for 1 s, and an abort meanwhile in a silent model call"""
    one = Scenario(s, [["a ", SILENT, "b"]])
    signal, left = s.signal(), list[float]()
    began = 0.0
    async for _ in s.stream(one.runner, "Hi", signal=signal, partial=True):
        if not began:
            began = time.monotonic()
            signal.set()
            while time.monotonic() - began < 1.0 and not s.model_was_left(one.agent):
                await asyncio.sleep(0.01)
            left.append(time.monotonic() - began)
    return await one.told(f"model call ended {bounded(left[0], 0.9)}")


async def row_41(s: System) -> str:
    """a consumer that is busy for 0.5 s with the call's event: when does the tool start"""
    one = Scenario(s, [[call("fast")], ["Done."]], "fast")
    started: list[bool] = []
    async for _ in s.stream(one.runner, "Hi"):
        if not started:
            await asyncio.sleep(0.5)
            started.append(bool(one.world.done))
    return await one.told("the tool " + ("has started meanwhile" if started[0] else "waits for the consumer"))


async def row_42(s: System) -> str:
    """a tool that takes no stop, with a grace of 0.1 s where there is one"""
    one = Scenario(s, [[call("swallowing")]], "swallowing")
    took = await aborted_when(s, one.runner, one.in_tool, grace=0.1)
    return await one.told("bounded" if took < 0.45 else "held by the tool")


async def row_45(s: System) -> str:
    """the model calls a tool that is not there"""
    one = Scenario(s, [[call("nobody")], ["Sorry."]], "fast")
    await read(s.stream(one.runner, "Hi"))
    return await one.told()


def in_group(kind: str) -> Callable[[System], Awaitable[str]]:
    async def row(s: System) -> str:
        agent = s.agent("agent", [[SILENT, "late"], ["Back."]])
        runner = s.runner(s.group(kind, [agent]))
        took = await aborted_when(s, runner, soon)
        return f"{await s.log(runner)} | {bounded(took)}"

    row.__doc__ = f"in the model of an agent in a {kind} agent"
    return row


_PLAYED = {**vars(one_run), **globals()}
ROWS: dict[str, Callable[[System], Awaitable[str]]] = {
    **{
        name.removeprefix("row_"): row
        for name, row in [*vars(one_run).items(), *globals().items()]
        if name.startswith("row_")
    },
    **{f"30 {kind}": in_group(kind) for kind in ("sequential", "loop", "parallel")},
}


async def played(s: System, name: str) -> str:
    """One row's result; an error in words."""
    try:
        return await asyncio.wait_for(ROWS[name](s), LIMIT)
    except Exception as error:
        return f"({type(error).__name__}: {error})"[:160]
