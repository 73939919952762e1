"""What the scenarios of stops are played with: a runtime, tools that say how far they have come, and waits."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

__all__ = [
    "LIMIT",
    "SILENT",
    "Scenario",
    "System",
    "World",
    "aborted_when",
    "bounded",
    "call",
    "next_turn",
    "read",
    "soon",
    "wait_for",
]

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
