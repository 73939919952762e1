"""One question to an agent, and what a stop of it left."""

from __future__ import annotations

import signal
import threading

import pytest

from rxagent.agents import LlmAgent
from rxagent.cli.ask import ask, load_session
from rxagent.cli.options import APP_NAME
from rxagent.errors import ModelConnectError
from rxagent.events import Event
from rxagent.runner import Runner
from rxagent.testing.scripted_model import ScriptedModel, call, gate, pause


def look(place: str) -> str:
    """Look."""
    return f"nothing at {place}"


def _runner(model: ScriptedModel) -> Runner:
    return Runner(LlmAgent(name="a", model=model, tools=[look]), app_name=APP_NAME)


def test_events_are_shown_as_they_come() -> None:
    """Partial and final events are shown in order; a run that ends is not stopped."""
    shown: list[Event] = []
    with _runner(ScriptedModel(["It is ", "21."])) as runner:
        asked = ask(runner, "me", "s1", "Weather?", shown.append)
    assert [(event.text, bool(event.partial)) for event in shown] == [
        ("It is ", True),
        ("21.", True),
        ("It is 21.", False),
    ]
    assert not asked.is_stopped
    assert asked.outcome is not None
    assert asked.outcome.kind == "completed"


def test_ctrl_c_disposes_and_tells_what_this_question_left() -> None:
    """Ctrl-C ends the run as disposed; `saved` holds its own events, not those of earlier questions."""
    with _runner(ScriptedModel(["Hello."], [call("look", place="x")], ["half ", pause(60)])) as runner:
        ask(runner, "me", "s1", "Hi", lambda event: None)

        def show(event: Event) -> None:
            if event.text == "half ":
                signal.raise_signal(signal.SIGINT)

        asked = ask(runner, "me", "s1", "Look.", show)
        session = load_session(runner.session_service, "me", "s1")
    assert asked.is_stopped
    assert asked.outcome is not None
    assert asked.outcome.kind == "disposed"
    assert session is not None
    assert asked.saved == session.events[2:]
    assert [event.author for event in asked.saved] == ["user", "a", "a"]


def test_ctrl_c_that_comes_too_late_loses_nothing() -> None:
    """When the run has ended before it could be disposed, all its events are shown and it counts as ended."""
    shown: list[Event] = []
    ended = threading.Event()
    with _runner(ScriptedModel(["It is ", gate(ended), "21."])) as runner:

        def show(event: Event) -> None:
            shown.append(event)
            if len(shown) == 1:
                ended.set()
            if not event.partial:
                signal.raise_signal(signal.SIGINT)

        asked = ask(runner, "me", "s1", "Weather?", show)
    assert [event.text for event in shown] == ["It is ", "21.", "It is 21."]
    assert asked.outcome is not None
    assert asked.is_stopped == (asked.outcome.kind == "disposed")


def test_a_failed_run_raises() -> None:
    """The run's error is raised."""
    with _runner(ScriptedModel(ModelConnectError("gone"))) as runner, pytest.raises(ModelConnectError, match="gone"):
        ask(runner, "me", "s1", "Hi", lambda event: None)
