"""Two processes run turns of one session at once, on one file; now and then the one that has the turn is killed.

`python two_processes.py FILE NAME` is one of them. It takes commands, one a line: `run N`, `hold N` (stop in the middle
of the turn, say so, and go on at `go`), and says `done N` at the end of each.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from rxagent.agents import LlmAgent
from rxagent.events import Event
from rxagent.runner import Runner
from rxagent.sessions import SqliteSessionService
from rxagent.testing.scripted_model import ScriptedModel, call

__all__ = ["Contest", "contend"]

KEY = ("app", "me", "s")
LIMIT = 20.0  # seconds in which a process must say something


class Contest(NamedTuple):
    """What happened. done: the messages whose runs were told to have ended. killed: those of killed processes.

    takeovers: seconds from each kill to the moment at which the other process was at work. rounds: seconds for both
    to have had a turn, of rounds without a kill.
    """

    done: list[str]
    killed: list[str]
    takeovers: list[float]
    rounds: list[float]
    events: list[Event]


def contend(path: Path, count: int, kill_every: int = 10) -> Contest:
    """`count` rounds: both processes start a run of the one session at once; each `kill_every`th has a kill -9."""
    service = SqliteSessionService(path)
    service.create_session(*KEY[:2], session_id=KEY[2])
    done: list[str] = []
    killed: list[str] = []
    takeovers: list[float] = []
    rounds: list[float] = []
    with _child(path, "a") as first, _child(path, "b") as second:
        pair = [first, second]
        for number in range(1, count + 1):
            if number % kill_every:
                done += _round(pair, number, rounds)
                continue
            loser = _holding(pair, number)
            loser.kill()
            begun = time.monotonic()
            winner = pair[1 - pair.index(loser)]
            assert winner.said() == f"holding {number}"
            takeovers.append(time.monotonic() - begun)
            winner.tell("go")
            assert winner.said() == f"done {number}"
            done.append(f"{winner.name} {number}")
            killed.append(f"{loser.name} {number}")
            pair[pair.index(loser)] = loser.again()
        for child in pair:
            child.end()
    session = service.get_session(*KEY)
    assert session is not None
    service.close()
    return Contest(done, killed, takeovers, rounds, session.events)


def _round(pair: list[_Child], number: int, took: list[float]) -> Iterator[str]:
    begun = time.monotonic()
    for child in pair:
        child.tell(f"run {number}")
    for child in pair:
        assert child.said() == f"done {number}"
        yield f"{child.name} {number}"
    took.append(time.monotonic() - begun)


def _holding(pair: list[_Child], number: int) -> _Child:
    """Have both start; the one that got the turn says so, and stands still."""
    for child in pair:
        child.tell(f"hold {number}")
    ready, _, _ = select.select([child.stdout for child in pair], [], [], LIMIT)
    (holder,) = [child for child in pair if child.stdout in ready]
    assert holder.said() == f"holding {number}"
    return holder


class _Child:
    """One of the processes."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        )
        assert self.said() == "ready"

    @property
    def stdout(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def tell(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")

    def said(self) -> str:
        assert select.select([self.stdout], [], [], LIMIT)[0], f"{self.name} says nothing"
        return self.stdout.readline().strip()

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)

    def again(self) -> _Child:
        self.end()
        return _Child(self.path, self.name)

    def end(self) -> None:
        with self.process:
            assert self.process.stdin is not None
            self.process.stdin.close()


@contextmanager
def _child(path: Path, name: str) -> Iterator[_Child]:
    child = _Child(path, name)
    try:
        yield child
    finally:
        if child.process.poll() is None and not (child.process.stdin and child.process.stdin.closed):
            child.kill()
            child.end()


def _work() -> str:
    """Work."""
    return "done"


def main(path: str, name: str) -> None:
    """Be one of the processes, until stdin ends."""
    service = SqliteSessionService(path)
    print("ready", flush=True)
    while command := sys.stdin.readline().split():
        kind, number = command

        def between(_: object, kind: str = kind, number: str = number) -> None:
            if kind == "hold":
                print(f"holding {number}", flush=True)
                assert sys.stdin.readline() == "go\n"

        model = ScriptedModel([call("_work")], [between, "Done."])
        agent = LlmAgent(name="agent", model=model, tools=[_work])
        list(Runner(agent, app_name=KEY[0], session_service=service).run(*KEY[1:], f"{name} {number}"))
        print(f"done {number}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
