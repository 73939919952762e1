"""The scenarios on google-adk: a script for an interpreter that has it. `python -m tests.stops.theirs` prints JSON."""

# mypy: ignore-errors
# ruff: noqa: E402, RUF012

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import FunctionTool, LongRunningFunctionTool
from google.adk.tools.agent_tool import AgentTool
from google.adk.version import __version__
from google.genai import types

from .rows import ROWS, played
from .scene import SILENT, World, call

APP = "app"
ROOT = Path(__file__).parents[2]
GROUPS = {"sequential": SequentialAgent, "loop": LoopAgent, "parallel": ParallelAgent}


class Scripted(BaseLlm):
    """Plays a script."""

    model: str = "scripted"
    script: list = []
    requests: list = []
    turn: int = 0
    running: bool = False

    async def generate_content_async(self, llm_request, stream=False):
        self.requests.append([content.model_copy(deep=True) for content in llm_request.contents])
        turn, self.turn = self.script[self.turn], self.turn + 1
        parts = []
        self.running = True
        try:
            for item in turn:
                if item == SILENT:
                    await asyncio.sleep(2)
                elif isinstance(item, Exception):
                    raise item
                elif isinstance(item, str):
                    parts.append(types.Part(text=item))
                    if stream:
                        content = types.Content(role="model", parts=[types.Part(text=item)])
                        yield LlmResponse(content=content, partial=True)
                else:
                    name, id, args = item
                    parts.append(types.Part(function_call=types.FunctionCall(id=id or None, name=name, args=args)))
            yield LlmResponse(content=types.Content(role="model", parts=parts))
        finally:
            self.running = False


class Theirs:
    """google-adk, as the scenarios see it."""

    name = f"google-adk {__version__}"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = 0

    def signal(self):
        return asyncio.Event()

    def agent(self, name, script, tools=(), sub_agents=()):
        made = [tool if not callable(tool) or hasattr(tool, "run_async") else FunctionTool(tool) for tool in tools]
        model = Scripted(script=script, requests=[])
        return LlmAgent(name=name, model=model, tools=made, sub_agents=list(sub_agents))

    def group(self, kind, members):
        more = {"max_iterations": 1} if kind == "loop" else {}
        return GROUPS[kind](name="root", sub_agents=members, **more)

    def agent_tool(self, agent):
        return AgentTool(agent=agent)

    def long_running(self, function):
        return LongRunningFunctionTool(function)

    def runner(self, agent, *, file=False, resumable=False, path=None):
        service = InMemorySessionService()
        if file:
            self._files += 1
            service = SqliteSessionService(str(path or self._folder / f"{self._files}.db"))
        config = ResumabilityConfig(is_resumable=True) if resumable else None
        return Runner(app=App(name=APP, root_agent=agent, resumability_config=config), session_service=service)

    async def stream(self, runner, message, *, signal=None, partial=False, invocation_id=None, grace=None):
        service = runner.session_service
        if await service.get_session(app_name=APP, user_id="u", session_id="s") is None:
            await service.create_session(app_name=APP, user_id="u", session_id="s")
        content = None if message is None else types.Content(role="user", parts=[types.Part(text=message)])
        config = RunConfig(streaming_mode=StreamingMode.SSE if partial else StreamingMode.NONE)
        stream = runner.run_async(
            user_id="u",
            session_id="s",
            new_message=content,
            invocation_id=invocation_id,
            run_config=config,
            abort_signal=signal,
        )
        async for event in stream:
            yield event

    def run(self, runner, message):
        asyncio.run(runner.session_service.create_session(app_name=APP, user_id="u", session_id="s"))
        content = types.Content(role="user", parts=[types.Part(text=message)])
        return runner.run(user_id="u", session_id="s", new_message=content)

    async def _session(self, runner):
        return await runner.session_service.get_session(app_name=APP, user_id="u", session_id="s")

    async def log(self, runner):
        session = await self._session(runner)
        return " ".join(letter for event in session.events if (letter := letter_of(event)))

    async def state(self, runner):
        return (await self._session(runner)).state

    async def first_invocation(self, runner):
        return (await self._session(runner)).events[0].invocation_id

    def last_request_is_well_formed(self, agent):
        owed = []
        for content in agent.model.requests[-1]:
            parts = content.parts or []
            given = sorted(str(part.function_response.id) for part in parts if part.function_response)
            if given != owed:
                return False
            owed = sorted(str(part.function_call.id) for part in parts if part.function_call)
        return not owed

    def model_calls(self, agent):
        return len(agent.model.requests)

    def model_was_left(self, agent):
        return not agent.model.running

    def on_append(self, runner, hook):
        service, plain = runner.session_service, runner.session_service.append_event

        async def append(session, event):
            if not event.partial:
                await hook(letter_of(event))
            return await plain(session, event)

        service.append_event = append

    async def append_stale(self, runner):
        service = runner.session_service
        one, other = await self._session(runner), await self._session(runner)
        await service.append_event(one, Event(author="agent", invocation_id="e-1"))
        try:
            await service.append_event(other, Event(author="agent", invocation_id="e-1"))
            stale = "taken"
        except Exception as error:
            stale = type(error).__name__
        old = Event(author="agent", invocation_id="old", timestamp=time.time() - 3600)
        await service.append_event(one, old)
        place = "last" if (await self._session(runner)).events[-1].id == old.id else "moved"
        return f"stale: {stale} | an old time: {place}"

    def crashed(self, resumable):
        path = self._folder / f"crash-{resumable}.db"
        command = [sys.executable, "-m", "tests.stops.theirs", str(path), "resumable" * resumable]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as child:
            assert child.stdout.readline() == b"in the tool\n"
            child.kill()
        agent = self.agent("agent", [["Back."], ["Back."]], [World().fast])
        return self.runner(agent, file=True, resumable=resumable, path=path), agent


def letter_of(event) -> str:
    """The event as a letter; nothing for what says nothing."""
    if event.partial:
        return ""
    if calls := event.get_function_calls():
        return "C" if len(calls) == 1 else f"C({len(calls)})"
    if responses := event.get_function_responses():
        made_up = ["aborted by client" in str(one.response) for one in responses]
        return "+".join("X" if one else "R" for one in made_up)
    if event.error_code == "INVOCATION_ABORTED":
        return "A"
    if event.error_code:
        return "E"
    if event.content and any(part.text for part in event.content.parts or []):
        return "U" if event.author == "user" else "T"
    return "end" if event.actions and event.actions.end_of_agent else ""


async def crash(path: str, resumable: str) -> None:
    """Run into a tool that never ends."""

    def fast() -> str:
        """Never end."""
        print("in the tool", flush=True)
        time.sleep(60)
        return "never"

    s = Theirs(Path(path).parent)
    runner = s.runner(s.agent("agent", [[call("fast")]], [fast]), file=True, resumable=bool(resumable), path=path)
    async for _ in s.stream(runner, "Hi"):
        pass


def main() -> None:
    """Play all rows, each on a loop of its own."""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ROWS:
            results[name] = asyncio.run(played(Theirs(Path(tempfile.mkdtemp(dir=folder))), name))
    print(json.dumps({"system": Theirs.name, "rows": results}))


if __name__ == "__main__":
    if sys.argv[1:]:
        asyncio.run(crash(*sys.argv[1:]))
    else:
        main()
