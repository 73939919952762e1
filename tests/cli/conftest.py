"""A folder with a module of agents, in which the shell's tests work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

AGENTS = '''
import asyncio
import sys

import reactivex as rx

from rxagent import BaseLlm, Content, FunctionCall, FunctionTool, LlmAgent, LlmResponse, Part
from rxagent.errors import ModelConnectError
from rxagent.testing.scripted_model import ScriptedModel, call, pause


def get_weather(city: str) -> dict:
    """Current weather."""
    return {"city": city, "degrees": 21}


async def work() -> None:
    """Work, and say so."""
    print("working", file=sys.stderr, flush=True)
    await asyncio.sleep(60)


def agent(name, *turns, **more):
    return LlmAgent(name=name, model=ScriptedModel(*turns, repeat_last=True), **more)


toiling = agent("toiling", [call("work")], tools=[work])
support = agent("support", [call("get_weather", city="Oslo")], ["It is ", "21 ", "degrees."], tools=[get_weather])
echo = agent("echo", ["Understood."])
slow = agent("slow", ["It is ", "21 ", pause(60), "degrees."])
later = agent("later", ["It is ", "21 ", pause(60), "degrees."], ["Here I am."])
unreachable = agent("unreachable", ModelConnectError("nobody listens at example:1; start the server"))
faulty = agent("faulty", ["half ", RuntimeError("boom")], ["Better now."])
modelless = LlmAgent(name="modelless")


class Refunding(BaseLlm):
    """Calls the tool for a message, and says what became of it for a result."""

    def generate_content(self, llm_request, stream=False):
        part = llm_request.contents[-1].parts[-1]
        if part.function_response is None:
            wish = FunctionCall(name="refund", args={"order": 7})
            return rx.just(LlmResponse(content=Content(role="model", parts=(Part(function_call=wish),))))
        result = part.function_response.response
        return rx.just(LlmResponse(content=Content.model("Refunded." if "error" not in result else "Not refunded.")))


def refund(order: int) -> dict:
    """Give the money back."""
    with open("refunds.txt", "a") as file:
        file.write(f"{order}\\n")
    return {"refunded": order}


refunds = LlmAgent(
    name="refunds", model=Refunding("refunding"), tools=[FunctionTool(refund, require_confirmation=True)]
)
number = 3
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, current; no model is named in the environment."""
    (tmp_path / "my_agents.py").write_text(AGENTS)
    (tmp_path / "broken_module.py").write_text("import json\n\nprint(undefined_name)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("my_agents", "broken_module"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in ("RXAGENT_MODEL", "RXAGENT_BASE_URL", "RXAGENT_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path
