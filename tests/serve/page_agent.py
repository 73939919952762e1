"""An agent for the page: what it does depends on the first word that it is sent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

from reactivex import Observable

from rxagent import LlmAgent, SequentialAgent
from rxagent.errors import ModelError
from rxagent.events import Content, Part
from rxagent.models import BaseLlm, LlmRequest, LlmResponse
from rxagent.streams import Blocking, CancelScope
from rxagent.testing import call
from rxagent.tools import BaseTool, FunctionTool, LongRunningFunctionTool

__all__ = ["agent", "team"]

STORY = "Once upon a time there was a run that could be stopped at any instant, and nobody was ever surprised by it. "


class Words(BaseLlm):
    """Answers the last words of the user: `story` slowly and for long, `poem` quickly; other words call a tool."""

    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
        """The answer, in pieces."""
        return Blocking(lambda scope: self._answer(llm_request, scope))

    def _answer(self, request: LlmRequest, scope: CancelScope) -> Iterator[LlmResponse]:
        last = request.contents[-1]
        if any(part.function_response for part in last.parts or ()):
            yield from _spoken("That is what the tool has found.", 0.01, scope)
            return
        match last.text.split(" ")[0].lower():
            case "story":
                yield from _spoken(STORY * 20, 0.05, scope)
            case "poem":
                yield LlmResponse(content=_part(Part(text="A poem wants few words.", thought=True)), partial=True)
                yield from _spoken(
                    "Roses are red,\nviolets are blue,\nand when you press Stop\nthe run stops, too.", 0.02, scope
                )
            case "export":
                yield LlmResponse(content=_part(call("export_report", report_id="7")))
            case "refund":
                yield LlmResponse(content=_part(call("refund", order=7, amount=19.9)))
            case "parcel":
                yield LlmResponse(content=_part(call("ask_depot", parcel="P-12")))
            case "fail":
                raise ModelError("the model's server is on fire; try again later")
            case _:
                yield from _spoken(f"You said: {last.text}", 0.01, scope)


def _spoken(text: str, pause: float, scope: CancelScope) -> Iterator[LlmResponse]:
    for word in re.findall(r"\S+\s*", text):
        scope.sleep(pause)
        yield LlmResponse(content=Content.model(word), partial=True)
    yield LlmResponse(content=Content.model(text), finish_reason="STOP")


def _part(part: Part) -> Content:
    return Content(role="model", parts=(part,))


async def export_report(report_id: str) -> dict[str, Any]:
    """Export a report, which takes a minute."""
    await asyncio.sleep(60)
    return {"status": "done", "report": report_id}


def refund(order: int, amount: float) -> dict[str, Any]:
    """Refund an order."""
    return {"status": "done", "order": order, "amount": amount}


def ask_depot(parcel: str) -> None:
    """Ask the depot where a parcel is; somebody answers later."""


tools: list[BaseTool] = [
    FunctionTool(export_report),
    FunctionTool(refund, require_confirmation=True),
    LongRunningFunctionTool(ask_depot),
]
agent = LlmAgent(name="support", description="Answers, exports, refunds", model=Words("scripted"), tools=list(tools))
team = SequentialAgent(
    name="team", sub_agents=[LlmAgent(name="first", model=Words("one")), LlmAgent(name="second", model=Words("two"))]
)
