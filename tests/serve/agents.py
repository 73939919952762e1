"""Modules with an agent, for servers in processes of their own."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

__all__ = ["pairs_module", "steps_module", "waiting_module"]


def waiting_module(folder: Path) -> Path:
    """An agent whose tool notes in the file `begun` that it begins, and then waits for half a minute."""
    return _written(
        folder,
        """
        import asyncio
        from rxagent import LlmAgent
        from rxagent.testing import ScriptedModel, call

        async def wait() -> str:
            "Wait."
            with open("begun", "a") as file:
                file.write("x")
            await asyncio.sleep(30)
            return "waited"

        agent = LlmAgent(name="support", model=ScriptedModel([call("wait")], repeat_last=True), tools=[wait])
        """,
    )


def pairs_module(folder: Path) -> Path:
    """An agent that calls a tool once in each run, and then answers."""
    return _written(
        folder,
        """
        from rxagent import LlmAgent
        from rxagent.testing import ScriptedModel, call

        def step() -> str:
            "One step."
            return "done"

        agent = LlmAgent(name="support", model=ScriptedModel(*[call("step"), "Done."] * 50), tools=[step])
        """,
    )


def steps_module(folder: Path) -> Path:
    """An agent that calls a tool again and again, without an end."""
    return _written(
        folder,
        """
        from rxagent import LlmAgent
        from rxagent.testing import ScriptedModel, call

        def step() -> str:
            "One step."
            return "done"

        agent = LlmAgent(name="support", model=ScriptedModel([call("step")], repeat_last=True), tools=[step])
        """,
    )


def _written(folder: Path, text: str) -> Path:
    path = folder / "agents_under_test.py"
    path.write_text(dedent(text))
    return path
