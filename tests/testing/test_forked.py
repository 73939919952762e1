"""Work in forked processes, and how it ends."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import NoReturn

from rxagent.agents import LlmAgent
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel
from rxagent.testing.forked import in_children


def test_what_they_return() -> None:
    """Each job's value comes back, in the order of the jobs, from a process of its own."""
    ended = in_children([os.getpid, lambda: {"a": [1]}], timeout=10)
    assert [one.how for one in ended] == ["value", "value"]
    assert ended[0].value != os.getpid()
    assert ended[1].value == {"a": [1]}


def test_they_run_side_by_side() -> None:
    """Two that wait for each other both end."""
    (read_a, write_a), (read_b, write_b) = os.pipe(), os.pipe()

    def meet(write: int, read: int) -> str:
        os.write(write, b"!")
        return os.read(read, 1).decode()

    ended = in_children([lambda: meet(write_a, read_b), lambda: meet(write_b, read_a)], timeout=10)
    assert [one.value for one in ended] == ["!", "!"]
    for end in (read_a, write_a, read_b, write_b):
        os.close(end)


def test_an_error_is_told_with_its_traceback() -> None:
    """What a job raises, also by leaving the interpreter, comes back as text."""

    def fail() -> NoReturn:
        raise SystemExit("broken")

    [ended] = in_children([fail], timeout=10)
    assert (ended.how, "SystemExit: broken" in ended.value) == ("raised", True)


def test_a_killed_one() -> None:
    """A child that is killed says nothing, and is known as killed."""
    [ended] = in_children([lambda: os.kill(os.getpid(), signal.SIGKILL)], timeout=10)
    assert ended.how == "killed"


def test_one_that_takes_too_long() -> None:
    """A child that does not end in time is killed; the others are not harmed."""
    began = time.monotonic()
    slow, quick = in_children([lambda: threading.Event().wait(60), lambda: 1], timeout=0.5)
    assert (slow.how, quick) == ("late", ("value", 1))
    assert time.monotonic() - began < 10


def test_runs_in_a_child() -> None:
    """Runs work in a child, also after runs in the parent."""

    def said() -> list[str]:
        with Runner(LlmAgent(name="a", model=ScriptedModel("Hi"))) as runner:
            return [event.text for event in runner.run("me", "s", "Go")]

    assert said() == ["Hi"]
    [ended] = in_children([said], timeout=10)
    assert ended.value == ["Hi"]
