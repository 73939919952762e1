"""Conversation, where a terminal is not needed to see it; test_chat.py holds the rest."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.cli import conversation
from rxagent.cli.ask import ask
from rxagent.cli.conversation import Conversation
from rxagent.cli.options import APP_NAME
from rxagent.cli.screen import PlainScreen
from rxagent.runner import Runner
from rxagent.testing import ScriptedModel


def _hold(lines: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Hold a conversation of these lines; the sessions that it has left."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    agent = LlmAgent(name="echo", model=ScriptedModel(["Understood."], repeat_last=True))
    with Runner(agent, app_name=APP_NAME) as runner:
        Conversation(runner, "me", "s1", PlainScreen()).hold()
        sessions: Any = runner.session_service.list_sessions(APP_NAME)
        return sorted(one.id for one in sessions)


def test_new_begins_a_session(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """/new is no question: what follows it belongs to another session."""
    sessions = _hold("One\n/new\nTwo\n", monkeypatch)
    assert len(sessions) == 2
    assert "s1" in sessions
    assert capsys.readouterr().out == "Understood.\nUnderstood.\n"


def test_a_second_ctrl_c_while_stopping_does_not_leave(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C that comes as an exception out of a question ends the question alone."""

    def interrupted(runner: Runner, user: str, session: str, text: str, show: Any, **more: Any) -> Any:
        if text == "One":
            raise KeyboardInterrupt
        return ask(runner, user, session, text, show, **more)

    monkeypatch.setattr(conversation, "ask", interrupted)
    _hold("One\nTwo\n", monkeypatch)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("Understood.\n", "Still stopping; the next question waits for it.\n")
