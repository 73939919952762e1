"""A process that delivers answers. `python delivering.py FILE LOG N`: N deliveries at once, when stdin says so.

Each delivery approves the open question of session s in the file. What the tool does is a line in LOG; then the process
says how many events each delivery was given.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from rxagent import App, LlmAgent, ResumabilityConfig, Runner, SqliteSessionService
from rxagent.testing.scripted_model import ScriptedModel, call
from rxagent.tools import FunctionTool

__all__ = ["agent", "deliver", "started"]

KEY = ("app", "me", "s")


def agent(done: Path, *turns: Any) -> LlmAgent:
    """One that gives money back, when it is told to."""

    def refund(order: int, tool_context: Any) -> str:
        """Give the money back."""
        with done.open("a") as file:
            file.write(f"{tool_context.function_call_id} {order}\n")
        return "done"

    tool = FunctionTool(refund, require_confirmation=True)
    return LlmAgent(name="a", model=ScriptedModel(*turns or (["Done."],), repeat_last=True), tools=[tool])


def app(done: Path, *turns: Any) -> App:
    """Its app."""
    return App(KEY[0], agent(done, *turns), resumability_config=ResumabilityConfig(resumable=True))


def started(path: Path, done: Path) -> None:
    """A session in the file with an open question."""
    service = SqliteSessionService(path)
    with Runner(app=app(done, [call("refund", order=7)]), session_service=service) as runner:
        list(runner.run(*KEY[1:], "Refund order 7"))
    service.close()


def deliver(path: Path, done: Path, counts: list[int]) -> list[int]:
    """One process for each count, all deliveries at the same moment; the numbers of events they were given, sorted."""
    children = [
        subprocess.Popen(
            [sys.executable, __file__, str(path), str(done), str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        )
        for count in counts
    ]
    given: list[int] = []
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        out, _ = child.communicate(timeout=30)
        assert child.returncode == 0
        given += [int(word) for word in out.split()]
    return sorted(given)


def main(path: str, done: str, count: str) -> None:
    """Be one of the processes."""
    service = SqliteSessionService(path)
    runners = [Runner(app=app(Path(done)), session_service=service) for _ in range(int(count))]
    [question] = runners[0].pending(*KEY[1:])
    given: list[int] = []

    def work(runner: Runner) -> None:
        given.append(len(list(runner.run(*KEY[1:], question.approve()))))

    threads = [threading.Thread(target=work, args=(runner,)) for runner in runners]
    print("ready", flush=True)
    assert sys.stdin.readline() == "go\n"
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(*given, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
