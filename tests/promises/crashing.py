"""A process that dies in the middle of a run: `python crashing.py FOLDER`, once for all of its appends.

For N = 1, 2, ... a fork of it runs the scenario on FOLDER/N.db and is killed (SIGKILL) when its N-th append is stored;
it says how many there are. What the tool has done stands in FOLDER/N.done.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rxagent import App, LoopAgent, ParallelAgent, ResumabilityConfig, Runner, SequentialAgent, SqliteSessionService
from rxagent.agents import BaseAgent, LlmAgent
from rxagent.events import Event
from rxagent.testing.scripted_model import ScriptedModel, call

__all__ = ["KEY", "Lines", "crash_everywhere", "runner"]

KEY = ("app", "me", "s")


class Lines(ScriptedModel):
    """A model of the whole tree: what it says depends on who asks, and on what has been said."""

    def __init__(self) -> None:
        super().__init__(["any"], repeat_last=True)

    def _begin(self, request: Any, stream: bool) -> Any:
        name = str(request.system_instruction).partition('internal name is "')[2].partition('"')[0]
        parts = [part for content in request.contents for part in content.parts or ()]
        rounds = sum("R" in (part.text or "") for part in parts)
        worked = any(part.function_response and part.function_response.name == "work" for part in parts)
        record, _ = super()._begin(request, stream)
        said: Any = {
            "a": "A." if worked else call("work"),
            "boss": call("transfer_to_agent", agent_name="kid"),
            "r": f"R{1 + rounds}.",
        }.get(name, f"{name.upper()}.")
        return record, (said,)


def runner(service: SqliteSessionService, done: Path, model: Lines) -> Runner:
    """The scenario: a tool, a transfer, a loop with a parallel agent in it."""

    def work(tool_context: Any) -> str:
        """Work."""
        with done.open("a") as file:
            file.write(f"{tool_context.function_call_id}\n")
        return "worked"

    def llm(name: str, **more: Any) -> BaseAgent:
        return LlmAgent(name=name, model=model, **more)

    both = ParallelAgent(name="both", scheduler="caller", sub_agents=[llm("x"), llm("y")])
    loop = LoopAgent(name="loop", max_iterations=2, sub_agents=[llm("r"), both])
    flow = SequentialAgent(
        name="flow", sub_agents=[llm("a", tools=[work]), llm("boss", sub_agents=[llm("kid")]), loop, llm("z")]
    )
    app = App(KEY[0], flow, resumability_config=ResumabilityConfig(resumable=True))
    return Runner(app=app, session_service=service)


def dying(path: Path, last: int) -> SqliteSessionService:
    """A service that kills its process when the last-th append is stored."""
    service, left = SqliteSessionService(path), itertools.count(last - 1, -1)
    append = service.append_events

    def append_and_die(session: Any, events: Sequence[Event], **more: Any) -> list[Event]:
        stored = append(session, events, **more)
        if not next(left):
            os.kill(os.getpid(), signal.SIGKILL)
        return stored

    service.append_events = append_and_die  # type: ignore[method-assign]
    return service


def crash_everywhere(folder: Path) -> int:
    """Have it die at each append; the number of appends."""
    ended = subprocess.run(
        [sys.executable, __file__, str(folder)],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    return int(ended.stdout)


def main(folder: str) -> None:
    """Fork and die, until a run comes to its end."""
    number = 0
    while True:
        number += 1
        pid = os.fork()
        if not pid:
            service = dying(Path(folder, f"{number}.db"), number)
            list(runner(service, Path(folder, f"{number}.done"), Lines()).run(*KEY[1:], "Go"))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            print(number - 1)
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
