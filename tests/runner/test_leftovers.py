"""What outlives its run is listed, as long as it is there."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from rxagent.invocation import RunConfig
from rxagent.runner import leftovers
from rxagent.testing.scripted_model import ScriptedModel, call

from .driving import USER, Consumer, Ends, Gate, runner_of, within

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="/proc tells when a thread was started")


def kinds(runner: Any) -> list[tuple[str, str]]:
    return [(one.kind, one.name) for one in runner.leftovers()]


def test_work_beyond_the_grace() -> None:
    """A tool that goes on beyond the grace is listed with its run, until it ends."""
    gate, ends = Gate(), Ends()

    def tool() -> str:
        """Work."""
        gate()
        return "done"

    runner = runner_of(ScriptedModel([call("tool")]), tools=[tool], plugins=[ends])
    run = runner.start(USER, "s", "Hi", RunConfig(cancel_grace_period=0))
    assert gate.entered.wait(5)
    assert runner.leftovers() == []
    run.abort()
    ends.next()
    [left] = runner.leftovers()
    assert (left.invocation_id, left.kind) == (run.invocation_id, "work")
    gate.opened.set()
    assert within(lambda: runner.leftovers() == [])


@needs_proc
def test_a_thread_that_a_tool_starts() -> None:
    """A thread that a tool starts and leaves is listed by its name; one that was there before is not."""
    gate, before = Gate(), Gate()

    def start() -> str:
        """Start something."""
        threading.Thread(target=gate, name="left behind").start()
        return "started"

    others = [threading.Thread(target=before, name="before")]
    others[0].start()
    assert before.entered.wait(5)
    threading.Event().wait(0.05)  # the clock of /proc has ticks of 10 ms
    runner = runner_of(ScriptedModel([call("start")], ["Done."]), tools=[start])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert kinds(runner) == [("thread", "left behind")]
    assert runner.leftovers()[0].invocation_id == consumer.events[0].invocation_id
    gate.opened.set()
    before.opened.set()
    assert within(lambda: runner.leftovers() == [])


@needs_proc
def test_a_process_that_a_tool_starts() -> None:
    """A child process that a tool starts and leaves is listed by number and name, until it has ended."""
    children: list[subprocess.Popen[bytes]] = []

    def start() -> str:
        """Start something."""
        children.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
        return "started"

    runner = runner_of(ScriptedModel([call("start")], ["Done."]), tools=[start])
    Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    [(kind, name)] = kinds(runner)
    assert (kind, name.partition(" ")[0]) == ("process", str(children[0].pid))
    children[0].communicate(b"\n")
    assert runner.leftovers() == []


def test_nothing_of_a_usual_run() -> None:
    """Our own threads are no leftovers."""
    runner = runner_of(["Hello."])
    Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert runner.leftovers() == []


def test_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has no /proc the work of runs is listed all the same, and nothing else."""
    monkeypatch.setattr(leftovers, "_PROC", tmp_path / "none")
    gate, ends = Gate(), Ends()

    def tool() -> str:
        """Work."""
        threading.Thread(target=gate).start()
        gate()
        return "done"

    runner = runner_of(ScriptedModel([call("tool")]), tools=[tool], plugins=[ends])
    run = runner.start(USER, "s", "Hi", RunConfig(cancel_grace_period=0))
    assert gate.entered.wait(5)
    run.abort()
    ends.next()
    assert kinds(runner) == [("work", run.invocation_id)]
    gate.opened.set()
    assert within(lambda: runner.leftovers() == [])
