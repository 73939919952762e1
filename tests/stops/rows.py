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
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol, cast

__all__ = ["ROWS", "SILENT", "System", "World", "call", "played"]

SILENT = "(silent)"
"""In a script: the model says nothing more for 2 s."""
LIMIT = 8.0  # seconds for one scenario


def call(name: str, id: str = "", **args: Any) -> tuple[str, str, dict[str, Any]]:
    """In a script: the model calls a tool."""
    return name, id, args


class System(Protocol):
    """What a scenario needs of an agent runtime."""

    def signal(self) -> Any: ...

    def agent(self, name: str, script: list[list[Any]], tools: list[Any] = ..., sub_agents: list[Any] = ...) -> Any: ...

    def group(self, kind: str, members: list[Any]) -> Any: ...

    def agent_tool(self, agent: Any) -> Any: ...

    def long_running(self, function: Any) -> Any: ...

    def runner(self, agent: Any, *, file: bool = ..., resumable: bool = ...) -> Any: ...

    def stream(
        self,
        runner: Any,
        message: str | None,
        *,
        signal: Any = ...,
        partial: bool = ...,
        invocation_id: str | None = ...,
        grace: float = ...,
    ) -> AsyncIterator[Any]: ...

    def run(self, runner: Any, message: str) -> Any: ...

    async def log(self, runner: Any) -> str: ...

    def last_request_is_well_formed(self, agent: Any) -> bool: ...

    def model_calls(self, agent: Any) -> int: ...

    def on_append(self, runner: Any, hook: Callable[[str], Awaitable[None]]) -> None: ...

    async def append_stale(self, runner: Any) -> str: ...

    async def state(self, runner: Any) -> dict[str, Any]: ...

    async def first_invocation(self, runner: Any) -> str: ...

    def model_was_left(self, agent: Any) -> bool: ...

    def crashed(self, resumable: bool) -> tuple[Any, Any]: ...


class World:
    """The tools of a scenario, and what they have done."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.done: list[str] = []

    async def slow(self) -> str:
        """Wait."""
        self.entered.set()
        await asyncio.sleep(2)
        self.done.append("slow")
        return "waited"

    async def fast(self) -> str:
        """Be quick."""
        self.done.append("fast")
        return "quick"

    async def again(self, number: int) -> str:
        """Work; the second time slowly."""
        if number == 2:
            self.entered.set()
            await asyncio.sleep(2)
        self.done.append(f"again {number}")
        return f"again {number}"

    async def unwinding(self) -> str:
        """Wait, and take half a second to stop."""
        self.entered.set()
        try:
            await asyncio.sleep(2)
        finally:
            await asyncio.sleep(0.5)
        return "waited"

    async def swallowing(self) -> str:
        """Take no stop, and be done half a second later."""
        self.entered.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(2)
        await asyncio.sleep(0.5)
        self.done.append("swallowing")
        return "done all the same"

    def blocking(self) -> str:
        """Block for half a second."""
        self.entered.set()
        time.sleep(0.5)
        self.done.append("blocking")
        return "blocked"

    def chunks(self, tool_context: Any) -> str:
        """Write ten chunks, and look between them."""
        self.entered.set()
        for chunk in range(10):
            if tool_context.is_aborted:
                return f"stopped at {chunk}"
            time.sleep(0.05)
            self.done.append("chunk")
        return "all"

    async def writes(self, tool_context: Any) -> str:
        """Write to the state."""
        tool_context.state["written"] = 1
        self.done.append("writes")
        return "written"

    async def broken(self) -> str:
        """Fail."""
        raise ValueError("broken")

    def pending(self) -> dict[str, str]:
        """Ask, and tell that it takes a while."""
        return {"status": "pending"}


async def wait_for(event: threading.Event) -> None:
    """Until a tool has been entered, without blocking the loop."""
    for _ in range(400):
        if event.is_set():
            return
        await asyncio.sleep(0.005)
    raise TimeoutError("the scenario did not come so far")


async def read(stream: AsyncIterator[Any]) -> list[Any]:
    """All events; an error of the run ends them."""
    events: list[Any] = []
    with contextlib.suppress(Exception):
        async for event in stream:
            events.append(event)
    return events


async def aborted_when(s: System, runner: Any, reached: Callable[[], Awaitable[None]], **more: Any) -> float:
    """A run whose signal is set then; the seconds from that to the end of the stream."""
    signal = s.signal()
    task = asyncio.create_task(read(s.stream(runner, "Hi", signal=signal, **more)))
    await reached()
    began = time.monotonic()
    signal.set()
    await task
    return time.monotonic() - began


async def next_turn(s: System, runner: Any, agent: Any) -> str:
    """Send a plain message; whether its request was well formed."""
    before = s.model_calls(agent)
    await read(s.stream(runner, "Go on"))
    if s.model_calls(agent) == before:
        return "next: no request"
    return "next: wf" if s.last_request_is_well_formed(agent) else "next: MALFORMED"


class Scenario:
    """An agent with tools in a world, the usual one of a row."""

    def __init__(self, s: System, script: list[list[Any]], *tools: str, **options: Any) -> None:
        self.s, self.world = s, World()
        self.agent = s.agent(
            "agent", [*script, ["Back."], ["Back."], ["Back."]], [getattr(self.world, t) for t in tools]
        )
        self.runner = s.runner(self.agent, **options)

    async def in_tool(self) -> None:
        await wait_for(self.world.entered)

    async def told(self, *more: str) -> str:
        """The log, and the next turn."""
        log = await self.s.log(self.runner)
        following = await next_turn(self.s, self.runner, self.agent)
        return " | ".join([log, *more, following, f"then {(await self.s.log(self.runner)).removeprefix(log).strip()}"])


def bounded(seconds: float, limit: float = 1.0) -> str:
    return "at once" if seconds < limit else f"after {seconds:.1f} s"


async def soon() -> None:
    await asyncio.sleep(0.2)


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


ROWS: dict[str, Callable[[System], Awaitable[str]]] = {
    **{name.removeprefix("row_"): row for name, row in list(globals().items()) if name.startswith("row_")},
    **{f"30 {kind}": in_group(kind) for kind in ("sequential", "loop", "parallel")},
}


async def played(s: System, name: str) -> str:
    """One row's result; an error in words."""
    try:
        return await asyncio.wait_for(ROWS[name](s), LIMIT)
    except Exception as error:
        return f"({type(error).__name__}: {error})"[:160]
