"""A folder with a module of agents, in which the shell's tests work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

AGENTS = '''
from rxagent import LlmAgent
from rxagent.errors import ModelConnectError
from rxagent.testing.scripted_model import ScriptedModel, call, pause


def get_weather(city: str) -> dict:
    """Current weather."""
    return {"city": city, "degrees": 21}


def agent(name, *turns, **more):
    return LlmAgent(name=name, model=ScriptedModel(*turns, repeat_last=True), **more)


support = agent("support", [call("get_weather", city="Oslo")], ["It is ", "21 ", "degrees."], tools=[get_weather])
echo = agent("echo", ["Understood."])
slow = agent("slow", ["It is ", "21 ", pause(60), "degrees."])
later = agent("later", ["It is ", "21 ", pause(60), "degrees."], ["Here I am."])
unreachable = agent("unreachable", ModelConnectError("nobody listens at example:1; start the server"))
faulty = agent("faulty", ["half ", RuntimeError("boom")], ["Better now."])
modelless = LlmAgent(name="modelless")
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
