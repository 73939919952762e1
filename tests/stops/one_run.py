"""Scenarios of one run that is stopped, in its model, its tools or between them. What they tell: see rows.py."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any, cast

from .scene import SILENT, Scenario, System, aborted_when, bounded, call, next_turn, read, soon


async def row_1(s: System) -> str:
    """abort before the first byte"""
    one = Scenario(s, [[SILENT, "late"]])
    took = await aborted_when(s, one.runner, soon)
    return await one.told(bounded(took))


async def row_2(s: System) -> str:
    """abort in mid-stream"""
    one = Scenario(s, [["a ", "b ", SILENT, "c"]])
    took = await aborted_when(s, one.runner, soon, partial=True)
    return await one.told(bounded(took))


async def row_3(s: System) -> str:
    """abort in an async tool"""
    one = Scenario(s, [[call("slow")]], "slow")
    took = await aborted_when(s, one.runner, one.in_tool)
    return await one.told(bounded(took))


async def row_3b(s: System) -> str:
    """the tool swallows the cancel, and is done 0.5 s later"""
    one = Scenario(s, [[call("swallowing")]], "swallowing")
    await aborted_when(s, one.runner, one.in_tool)
    return await one.told(f"done: {one.world.done}")


async def row_4(s: System) -> str:
    """abort in a sync tool, set by a thread"""
    one = Scenario(s, [[call("blocking")]], "blocking")
    signal = s.signal()
    setter = threading.Thread(target=lambda: (one.world.entered.wait(2), signal.set()))
    setter.start()
    await read(s.stream(one.runner, "Hi", signal=signal))
    setter.join()
    return await one.told(f"done: {one.world.done}")


async def row_4b(s: System) -> str:
    """a sync tool that looks between chunks, set on the loop"""
    one = Scenario(s, [[call("chunks")]], "chunks")
    await aborted_when(s, one.runner, one.in_tool)
    return await one.told("stops between chunks" if len(one.world.done) < 10 else "runs to its end")


async def row_5(s: System) -> str:
    """a batch of two, the fast one has finished"""
    one = Scenario(s, [[call("fast", "1"), call("slow", "2")]], "fast", "slow")

    async def both() -> None:
        await one.in_tool()
        await asyncio.sleep(0.05)

    await aborted_when(s, one.runner, both)
    return await one.told(f"done: {one.world.done}")


async def row_5b(s: System) -> str:
    """a tool wrote state, then the abort"""
    one = Scenario(s, [[call("writes", "1"), call("slow", "2")]], "writes", "slow")

    async def both() -> None:
        await one.in_tool()
        await asyncio.sleep(0.05)

    await aborted_when(s, one.runner, both)
    return await one.told(f"state kept: {'written' in await s.state(one.runner)}")


async def row_6(s: System) -> str:
    """in the model of a sub-agent that was handed over to"""
    sub = s.agent("sub", [[SILENT, "late"], ["Back."]])
    root = s.agent("agent", [[call("transfer_to_agent", "", agent_name="sub")], ["Back."]], [], [sub])
    runner = s.runner(root)
    took = await aborted_when(s, runner, soon)
    return f"{await s.log(runner)} | {bounded(took)}"


async def row_6b(s: System) -> str:
    """in an agent that is a tool"""
    inner = s.agent("inner", [[SILENT, "late"]])
    agent = s.agent("agent", [[call("inner", "1", request="Go")], ["Back."]], [s.agent_tool(inner)])
    runner = s.runner(agent)
    took = await aborted_when(s, runner, soon)
    return f"{await s.log(runner)} | {bounded(took)} | {await next_turn(s, runner, agent)}"


async def row_7(s: System) -> str:
    """the signal was set before; then a turn without one"""
    one = Scenario(s, [])
    signal = s.signal()
    signal.set()
    await read(s.stream(one.runner, "Hi", signal=signal))
    return await one.told(f"model calls: {s.model_calls(one.agent)}")


async def set_at(s: System, one: Scenario, number: int) -> None:
    """Set the signal in the handler of the n-th event."""
    signal, seen = s.signal(), 0
    async for _ in s.stream(one.runner, "Hi", signal=signal):
        seen += 1
        if seen == number:
            signal.set()


async def row_7b(s: System) -> str:
    """set in the handler of the final event"""
    one = Scenario(s, [["Hello."]])
    await set_at(s, one, 1)
    return await one.told()


async def row_7c(s: System) -> str:
    """set in the handler of the call's event"""
    one = Scenario(s, [[call("fast")]], "fast")
    await set_at(s, one, 1)
    return await one.told(f"started: {one.world.done}")


async def row_8(s: System) -> str:
    """break at the call's event, the next turn at once"""
    one = Scenario(s, [[call("slow")]], "slow")
    async for _ in s.stream(one.runner, "Hi"):
        break
    return await one.told()


async def row_8b(s: System) -> str:
    """break inside aclosing"""
    one = Scenario(s, [[call("slow")]], "slow")
    async with contextlib.aclosing(cast(Any, s.stream(one.runner, "Hi"))) as stream:
        async for _ in stream:
            break
    return await one.told()
