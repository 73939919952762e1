"""Modules with an agent, for servers in processes of their own."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

__all__ = ["noting_module", "pairs_module", "steps_module", "waiting_module"]


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


def noting_module(folder: Path) -> Path:
    """The page's agent. The file `spoken` gets the second at which each of its model's answers has ended, or was
    stopped; the word `note` lets it save an artifact."""
    return _written(
        folder,
        """
        import time
        from collections.abc import Iterator
        from rxagent import LlmAgent
        from rxagent.events import Blob, Content, Part
        from rxagent.invocation import ToolContext
        from rxagent.models import LlmRequest, LlmResponse
        from rxagent.streams import CancelScope
        from rxagent.testing import call
        from tests.serve.page_agent import Words, tools

        class NotingWords(Words):
            def _answer(self, request: LlmRequest, scope: CancelScope) -> Iterator[LlmResponse]:
                try:
                    if request.contents[-1].text == "note":
                        yield LlmResponse(content=Content(role="model", parts=(call("save_note"),)))
                    else:
                        yield from super()._answer(request, scope)
                finally:
                    with open("spoken", "a") as file:
                        file.write(f"{time.time()}\\n")

        def save_note(tool_context: ToolContext) -> str:
            "Save a note."
            note = Blob(mime_type="text/plain", data=b"A short note.")
            tool_context.save_artifact("notes/a.txt", Part(inline_data=note))
            return "saved"

        agent = LlmAgent(name="support", model=NotingWords("scripted"), tools=[*tools, save_note])
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
