"""The scenarios on rxagent."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final, cast

from rxagent.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from rxagent.events import Event
from rxagent.history.sealing import ABORTED, SEAL_STATUSES, is_seal
from rxagent.invocation import AbortSignal, ResumabilityConfig, RunConfig
from rxagent.runner import AgentTool, App, Runner
from rxagent.sessions import InMemorySessionService, SqliteSessionService
from rxagent.testing.invariants import request_faults
from rxagent.testing.scripted_model import ScriptedModel, pause
from rxagent.testing.scripted_model import call as scripted_call
from rxagent.tools import LongRunningFunctionTool

from .scene import SILENT, World, call

__all__ = ["Ours"]

APP: Final = "app"
ROOT: Final = Path(__file__).parents[2]
GROUPS: Final[dict[str, Any]] = {"sequential": SequentialAgent, "loop": LoopAgent, "parallel": ParallelAgent}


class Ours:
    """rxagent, as the scenarios see it. Files are in `folder`."""

    name = "rxagent"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._services: list[SqliteSessionService] = []

    def close(self) -> None:
        """Close the files."""
        for service in self._services:
            service.close()

    # -- building ------------------------------------------------------------------------------------------------------

    def signal(self) -> AbortSignal:
        return AbortSignal()

    def agent(self, name: str, script: list[list[Any]], tools: Any = (), sub_agents: Any = ()) -> LlmAgent:
        turns = [[_item(item) for item in turn] for turn in script]
        return LlmAgent(name=name, model=ScriptedModel(*turns), tools=tools, sub_agents=sub_agents)

    def group(self, kind: str, members: list[Any]) -> BaseAgent:
        more = {"max_iterations": 1} if kind == "loop" else {}
        return cast(BaseAgent, GROUPS[kind](name="root", sub_agents=members, **more))

    def agent_tool(self, agent: Any) -> AgentTool:
        return AgentTool(agent)

    def long_running(self, function: Any) -> LongRunningFunctionTool:
        return LongRunningFunctionTool(function)

    def runner(self, agent: Any, *, file: bool = False, resumable: bool = False, path: Path | None = None) -> Runner:
        service: Any = InMemorySessionService()
        if file:
            service = SqliteSessionService(path or self._folder / f"{len(self._services)}.db")
            self._services.append(service)
        if resumable:
            config = ResumabilityConfig(resumable=True)
            return Runner(app=App(APP, root_agent=agent, resumability_config=config), session_service=service)
        return Runner(agent, app_name=APP, session_service=service)

    # -- running -------------------------------------------------------------------------------------------------------

    def stream(
        self,
        runner: Any,
        message: str | None,
        *,
        signal: Any = None,
        partial: bool = False,
        invocation_id: str | None = None,
        grace: float = 5.0,
    ) -> AsyncIterator[Any]:
        config = RunConfig(streaming_mode="sse" if partial else "none", cancel_grace_period=grace)
        stream = runner.stream("u", "s", message, config, abort_signal=signal, invocation_id=invocation_id)
        return cast("AsyncIterator[Any]", stream)

    def run(self, runner: Any, message: str) -> Any:
        return runner.run("u", "s", message)

    # -- looking -------------------------------------------------------------------------------------------------------

    async def log(self, runner: Any) -> str:
        session = runner.session_service.get_session(APP, "u", "s")
        letters = [letter for event in (session.events if session else []) if (letter := letter_of(event))]
        return " ".join(letters)

    async def state(self, runner: Any) -> dict[str, Any]:
        return cast("dict[str, Any]", runner.session_service.get_session(APP, "u", "s").state)

    async def first_invocation(self, runner: Any) -> str:
        return cast(str, runner.session_service.get_session(APP, "u", "s").events[0].invocation_id)

    def last_request_is_well_formed(self, agent: Any) -> bool:
        return not list(request_faults(agent.model.requests[-1].contents))

    def model_calls(self, agent: Any) -> int:
        return len(agent.model.calls)

    def model_was_left(self, agent: Any) -> bool:
        return bool(agent.model.calls[-1].state != "running")

    def on_append(self, runner: Any, hook: Callable[[str], Awaitable[None]]) -> None:
        service, plain = runner.session_service, runner.session_service.append_events

        def append(session: Any, events: Any, **options: Any) -> Any:
            asyncio.run(cast(Any, hook(letter_of(events[-1]))))
            return plain(session, events, **options)

        service.append_events = append

    async def append_stale(self, runner: Any) -> str:
        service: SqliteSessionService = runner.session_service
        one, other = (service.get_session(APP, "u", "s") for _ in range(2))
        assert one is not None
        assert other is not None
        known = other.last_seq
        service.append_event(one, Event(author="agent", invocation_id="e-1"))
        try:
            service.append_event(other, Event(author="agent", invocation_id="e-1"), expected_seq=known)
            stale = "taken"
        except Exception as error:
            stale = type(error).__name__
        old = service.append_event(one, Event(author="agent", invocation_id="old", timestamp=1))
        stored = service.get_session(APP, "u", "s")
        assert stored is not None
        place = "last" if stored.events[-1].id == old.id else "moved"
        return f"stale: {stale} | an old time: {place}"

    # -- a crash -------------------------------------------------------------------------------------------------------

    def crashed(self, resumable: bool) -> tuple[Any, Any]:
        path = self._folder / f"crash-{resumable}.db"
        kill_in_tool([sys.executable, "-m", "tests.stops.ours", str(path), "resumable" * resumable])
        agent = self.agent("agent", [["Back."], ["Back."]], [World().fast])
        return self.runner(agent, file=True, resumable=resumable, path=path), agent


def kill_in_tool(command: list[str]) -> None:
    """Start it, and kill it when it says that it is in the tool."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"in the tool\n"
        child.kill()


def _item(item: Any) -> Any:
    if item == SILENT:
        return pause(2)
    if isinstance(item, tuple):
        name, id, args = item
        return scripted_call.with_id(id, name, **args) if id else scripted_call(name, **args)
    return item


def letter_of(event: Event) -> str:
    """The event as a letter; nothing for what says nothing."""
    if event.custom_metadata and event.custom_metadata.get("warning"):
        return "W"
    if calls := event.function_calls:
        return "C" if len(calls) == 1 else f"C({len(calls)})"
    if responses := event.function_responses:
        made_up = [is_seal(event) and (one.response or {}).get("status") in SEAL_STATUSES for one in responses]
        return "+".join("X" if one else "R" for one in made_up)
    if event.error_code == ABORTED:
        return "H" if event.content else "A"
    if event.error_code:
        return "E"
    if event.text:
        return "U" if event.author == "user" else "T"
    return "end" if event.actions.end_of_agent else ""


def _crash(path: str, resumable: str) -> None:
    """Run into a tool that never ends."""

    def fast() -> str:
        """Never end."""
        print("in the tool", flush=True)
        time.sleep(60)
        return "never"

    with tempfile.TemporaryDirectory() as folder:
        s = Ours(Path(folder))
        runner = s.runner(
            s.agent("agent", [[call("fast")]], [fast]), file=True, resumable=bool(resumable), path=Path(path)
        )
        list(runner.run("u", "s", "Hi"))


if __name__ == "__main__":
    _crash(*sys.argv[1:])
