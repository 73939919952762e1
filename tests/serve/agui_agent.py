"""Agents for clients with tools of their own: what the model does depends on the first word that it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from reactivex import Observable

from rxagent import LlmAgent
from rxagent.events import Content, Part
from rxagent.invocation import ToolContext
from rxagent.models import BaseLlm, LlmRequest, LlmResponse
from rxagent.streams import Blocking
from rxagent.testing import call
from rxagent.tools import LongRunningFunctionTool

__all__ = ["agent"]


class Words(BaseLlm):
    """`paint` calls the client's tool, `look` the agent's, `both` both, `ask` a long-running one of the agent's.

    `export` calls one that takes a minute, and says that it has begun.

    `context` is answered with the system instruction, `tools` with the names of the tools, a result with its words.
    """

    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
        """The answer."""
        return Blocking(lambda _: self._answer(llm_request))

    def _answer(self, request: LlmRequest) -> Iterator[LlmResponse]:
        last = request.contents[-1]
        results = [
            part.function_response.response
            for content in request.contents[-2:]
            for part in content.parts or ()
            if part.function_response is not None
        ]
        match last.text.split(" ")[0]:
            case "paint":
                yield _calling(call("paint", colour="red"))
            case "look":
                yield _calling(call("look"))
            case "both":
                yield _calling(call("paint"), call("look"))
            case "ask":
                yield _calling(call("paint"), call("ask"))
            case "export":
                yield _calling(call("export"))
            case "context":
                yield LlmResponse(content=Content.model(request.system_instruction))
            case "tools":
                yield LlmResponse(content=Content.model(" ".join(request.tools)))
            case words:
                yield LlmResponse(content=Content.model(f"{words} {sorted(results, key=str)}"))


def _calling(*parts: Part) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=parts))


def look() -> str:
    """Look."""
    return "a wall"


async def export(tool_context: ToolContext) -> str:
    """Export it, which takes a minute."""
    assert tool_context.report_progress("begun")
    await asyncio.sleep(60)
    return "exported"


def ask() -> None:
    """Ask somebody."""


agent = LlmAgent(name="painter", model=Words("scripted"), tools=[look, LongRunningFunctionTool(ask), export])
