"""The runner of a command."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from rxagent.agents import LlmAgent
from rxagent.cli.open_runner import open_runner
from rxagent.cli.options import APP_NAME, add_model_options, add_session_options
from rxagent.errors import RxAgentError
from rxagent.models.base import BaseLlm
from rxagent.models.local import LocalModel
from rxagent.sessions import InMemorySessionService, SqliteSessionService


def _arguments(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("agent", nargs="?")
    add_model_options(parser)
    add_session_options(parser, without_db="")
    return parser.parse_args(arguments)


def _model(*arguments: str) -> str | BaseLlm | None:
    with open_runner(_arguments(*arguments)) as runner:
        assert runner.app_name == APP_NAME
        assert isinstance(runner.agent, LlmAgent)
        return runner.agent.model


def test_an_agent_keeps_its_model_unless_a_flag_names_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's own model stands above the environment and below the flags; one without a model gets one."""
    monkeypatch.setenv("RXAGENT_MODEL", "from-environment")
    monkeypatch.setenv("RXAGENT_BASE_URL", "http://127.0.0.1:1/v1")
    assert getattr(_model("my_agents:echo"), "model", None) == "scripted"
    assert getattr(_model("my_agents:modelless"), "model", None) == "from-environment"
    assert isinstance(_model("my_agents:echo", "--model", "local"), LocalModel)
    assert isinstance(_model("--model", "local"), LocalModel)


def test_sessions_are_in_the_file_that_is_named_else_in_memory(folder: Path) -> None:
    """--db names the file; without it nothing is written."""
    with open_runner(_arguments("my_agents:echo")) as runner:
        assert isinstance(runner.session_service, InMemorySessionService)
    with open_runner(_arguments("my_agents:echo", "--db", "c.db")) as runner:
        assert isinstance(runner.session_service, SqliteSessionService)
    assert sorted(path.name for path in folder.iterdir() if path.suffix == ".db") == ["c.db"]


def test_a_file_that_cannot_be_used(folder: Path) -> None:
    """A file that is no session file is a typed error, and nothing stays open."""
    (folder / "text.db").write_text("This is no database, however long it is." * 100)
    with pytest.raises(RxAgentError, match=r"text\.db"), open_runner(_arguments("my_agents:echo", "--db", "text.db")):
        pytest.fail("it was opened")
