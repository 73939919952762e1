"""The harness finds what is wrong: each part of a run is broken once, and must be named."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.events import Event
from rxagent.invocation import RunConfig
from rxagent.runner import Runner
from rxagent.runner.log import RunLog
from rxagent.runner.run import Run
from rxagent.sessions import InMemorySessionService, Session
from rxagent.streams import CancelScope, Outlet, Single
from rxagent.testing import ScriptedModel, call, cancel_everywhere, pause, trial
from rxagent.testing.trial import AT_ONCE

from .scenarios import plain, runner_for


def faults(make_runner: Callable[[], Runner], **options: Any) -> str:
    """What cancel_everywhere has to say; fails when it has nothing."""
    with pytest.raises(AssertionError) as found:
        cancel_everywhere(make_runner, "Go", **options)
    return str(found.value)


def test_the_report_counts_and_names_the_instants(monkeypatch: pytest.MonkeyPatch) -> None:
    """One report tells how many faults there are, and at which instants."""
    monkeypatch.setattr(Run, "dispose", lambda self: None)
    text = faults(runner_for(plain, steps=1))
    head, *lines = text.splitlines()
    assert "faults at" in head
    assert f"  dispose at {AT_ONCE!r}:" in lines
    assert "    - the outcome is completed, not disposed" in lines


def test_a_service_that_appends_after_the_stop() -> None:
    """An event that a service stores behind the run's back is found in the log."""

    class Forgetful(InMemorySessionService):
        def append_events(self, session: Session, events: Sequence[Event], **options: Any) -> list[Event]:
            stored = super().append_events(session, events, **options)
            if any(event.author == "a" for event in events):
                copy = self.get_session(*session.key)
                assert copy is not None
                super().append_events(copy, [Event(author="a", invocation_id="x")])
            return stored

    text = faults(runner_for(plain, steps=1, session_service=Forgetful()))
    assert "the consumer saw" in text


def test_a_run_that_emits_after_the_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reaches the consumer after the dispose is found."""
    monkeypatch.setattr(Outlet, "close", lambda self: None)
    assert "delivered after the stop" in faults(runner_for(plain, steps=1))


def test_a_run_that_stores_what_it_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A final event that is stored and never shown is found, even in a run that is not stopped."""
    show = RunLog._replaced
    monkeypatch.setattr(
        RunLog,
        "_replaced",
        lambda self, *args: show(self, *args).model_copy(update={"id": "another"}),
    )
    text = faults(runner_for(plain, steps=1))
    assert "never stopped" in text
    assert "the log holds" in text


def test_a_model_and_a_tool_that_start_after_the_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flow that never looks at its scope goes on to models and tools, and each is named."""
    monkeypatch.setattr(CancelScope, "check", lambda self: None)
    text = faults(runner_for(plain, steps=1))
    assert "began after the stop: request of a 1 made" in text
    assert "began after the stop: tool plain 1 started" in text


def test_work_that_goes_on() -> None:
    """Code that ignores the stop beyond the grace is told as work that goes on."""
    made: list[Runner] = []

    class Stubborn(InMemorySessionService):
        def append_events(self, session: Session, events: Sequence[Event], **options: Any) -> Any:
            if len(made) > 1 and events[0].author == "a":
                threading.Event().wait(0.3)  # the fault: nothing can stop it
            return super().append_events(session, events, **options)

    def make() -> Runner:
        made.append(Runner(LlmAgent(name="a", model=ScriptedModel(["Hi"])), session_service=Stubborn()))
        return made[-1]

    text = faults(make, run_config=RunConfig(cancel_grace_period=0.01))
    assert "dispose at 'append 2 begun':\n    - work of the run goes on after its end: e-" in text


def test_a_run_that_does_not_end() -> None:
    """A run whose end is not told within the time-out is named, and nothing more is asked of it."""
    text = faults(lambda: Runner(LlmAgent(name="a", model=ScriptedModel([pause(60)]))), timeout=0.1)
    assert text.splitlines()[2:] == ["    - the run has not ended after 0.1 s"]


def test_a_dispose_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dispose that takes longer than it may is named."""
    dispose = Run.dispose

    def slow(self: Run) -> None:
        threading.Event().wait(0.02)  # the fault: it waits
        dispose(self)

    monkeypatch.setattr(Run, "dispose", slow)
    monkeypatch.setattr(trial, "SLOW", 0.01)
    assert "the stop took 0.02" in faults(lambda: Runner(LlmAgent(name="a", model=ScriptedModel("Hi"))))


def test_a_log_that_is_not_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that the next turn leaves open in the log is named; its request is well formed by itself."""
    monkeypatch.setattr("rxagent.history.digest.SessionDigest.calls_to_seal", lambda *_: [])
    text = faults(runner_for(plain, steps=1))
    assert "after the next turn a call is still open: <LoggedCall plain " in text


def test_a_scenario_that_fails() -> None:
    """A scenario that fails by itself is told at once, and not as a fault of stopping."""
    text = faults(lambda: Runner(LlmAgent(name="a", model=ScriptedModel(ValueError("broken")))))
    assert text.startswith("1 faults at 1 of 1 instants")
    assert "the scenario fails: ValueError('broken')" in text


def test_a_scenario_that_differs_each_time() -> None:
    """An instant that does not come again is named: a scenario must repeat itself."""
    models: Iterator[ScriptedModel] = itertools.chain(
        [ScriptedModel([call("plain", step=1, part="a")], "Done")], (ScriptedModel("Done") for _ in itertools.count())
    )
    text = faults(lambda: Runner(LlmAgent(name="a", model=next(models), tools=[plain])))
    assert "did not come to this instant again" in text


def test_a_tool_that_returns_a_single_is_watched_through() -> None:
    """Watching a tool changes neither its result nor its errors."""

    def gives(number: int) -> Single[int]:
        """Give it back."""
        return Single.just(number)

    model = ScriptedModel([call("gives", number=7)], "Done")
    made: list[ScriptedModel] = []

    def make() -> Runner:
        made.append(model.fresh())
        return Runner(LlmAgent(name="a", model=made[-1], tools=[gives]))

    cancel_everywhere(make, "Go")
    (answer,) = [part.function_response for part in made[0].requests[1].contents[-1].parts or ()]
    assert answer is not None
    assert answer.response == {"result": 7}
