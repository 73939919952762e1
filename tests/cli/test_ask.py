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
from tests.runner.driving import within


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


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGINT, "user_stop"), (signal.SIGTERM, "worker_shutdown")])
def test_a_signal_aborts_and_tells_what_this_question_left(number: signal.Signals, reason: str) -> None:
    """Ctrl-C and SIGTERM end the run as aborted, with a reason; `saved` holds its own events alone."""
    with _runner(ScriptedModel(["Hello."], [call("look", place="x")], ["half ", pause(60)])) as runner:
        ask(runner, "me", "s1", "Hi", lambda event: None)

        def show(event: Event) -> None:
            if event.text == "half ":
                signal.raise_signal(number)

        asked = ask(runner, "me", "s1", "Look.", show)
        session = load_session(runner.session_service, "me", "s1")
    assert asked.is_stopped
    assert asked.outcome is not None
    assert (asked.outcome.kind, asked.outcome.reason) == ("aborted", reason)
    assert asked.is_shut_down == (reason == "worker_shutdown")
    assert session is not None
    assert asked.saved == session.events[2:]
    assert [event.author for event in asked.saved] == ["user", "a", "a", "a"]


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
    assert asked.is_stopped == (asked.outcome.kind == "aborted")


def test_a_failed_run_raises() -> None:
    """The run's error is raised."""
    with _runner(ScriptedModel(ModelConnectError("gone"))) as runner, pytest.raises(ModelConnectError, match="gone"):
        ask(runner, "me", "s1", "Hi", lambda event: None)


def test_a_timeout_aborts() -> None:
    """An answer that takes longer than the timeout is stopped, with the reason in the outcome."""
    with _runner(ScriptedModel(["half ", pause(60)])) as runner:
        asked = ask(runner, "me", "s1", "Hi", lambda event: None, timeout=0.1)
    assert asked.is_stopped
    assert str(asked.outcome).startswith("aborted (request_timeout): ")


def test_a_second_ctrl_c_disposes() -> None:
    """The second Ctrl-C leaves a run that does not come to its end: it raises, and the run is disposed."""
    stubborn, go_on = threading.Event(), threading.Event()

    def work() -> str:
        """Never look at a stop."""
        stubborn.set()
        go_on.wait(30)
        return "late"

    agent = LlmAgent(name="a", model=ScriptedModel(["half ", call("work")]), tools=[work])
    with Runner(agent, app_name=APP_NAME) as runner:

        def press() -> None:
            assert stubborn.wait(10)
            inside = signal.getsignal(signal.SIGINT)
            signal.pthread_kill(main, signal.SIGINT)
            assert within(lambda: signal.getsignal(signal.SIGINT) is not inside)  # two at once are one
            signal.pthread_kill(main, signal.SIGINT)
            go_on.set()

        main = threading.main_thread().ident or 0
        pressing = threading.Thread(target=press)
        pressing.start()
        with pytest.raises(KeyboardInterrupt):
            ask(runner, "me", "s1", "Hi", lambda event: None)
        pressing.join()
