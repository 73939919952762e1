"""A forked child of a process whose threads are warm."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

FORK = """
    import asyncio, os, sys, threading
    from rxagent.agents import LlmAgent
    from rxagent.invocation import RunConfig
    from rxagent.runner import Runner
    from rxagent.testing import ScriptedModel, call

    async def work() -> str:
        "Work."
        await asyncio.sleep(0)
        return "done"

    def runner():
        turns = [[call("work")], ["a", "b", "c"]]
        return Runner(LlmAgent(name="agent", model=ScriptedModel(*turns, repeat_last=True), tools=[work]))

    def all_of_it(name):
        one = runner()
        assert len(list(one.run("me", name, "Hi"))) == 3
        for _ in one.run("me", name + "2", "Hi", RunConfig(streaming_mode="sse")):
            break
        handle = one.start("me", name + "3", "Hi")
        handle.dispose()
        assert handle.wait(5) is not None
        async def main():
            return await one.run_async("me", name + "4", "Hi")
        assert asyncio.run(main()) is not None

    all_of_it("parent")
    names = sorted(thread.name.rstrip("0123456789") for thread in threading.enumerate())
    assert {"rxagent-worker-", "rxagent-timer", "rxagent-reaper", "rxagent-loop"} <= set(names), names
    child = os.fork()
    if not child:
        try:
            all_of_it("child")
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
    _, status = os.waitpid(child, 0)
    all_of_it("parent again")
    print("child", status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_fork() -> None:
    """A forked child of a process with warm workers, timer, reaper and loop runs agents, and so does its parent."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FORK)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "child 0", done.stderr
