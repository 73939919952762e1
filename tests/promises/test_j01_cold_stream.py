"""A run is a cold stream: assembling it does nothing, and subscribing does everything in a fixed order."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rxagent.errors import SessionNotFoundError
from rxagent.events import Content, Event
from rxagent.invocation import RunConfig
from rxagent.sessions import SqliteSessionService
from rxagent.testing.scripted_model import ScriptedModel
from tests.runner.driving import APP, USER, Consumer, log, put, runner_of, said, watch

METHODS = ("open_run", "get_session", "create_session", "append_event", "append_events", "close_run")


@pytest.mark.promise("J1")
def test_assembling_does_nothing(tmp_path: Path) -> None:
    """Before a subscription no session is read, nothing is appended, no model is called and no thread starts."""
    model, service = ScriptedModel(["Hello."]), SqliteSessionService(tmp_path / "log.db")
    asked = [watch(service, name) for name in METHODS]
    runner = runner_of(model, service=service)
    threads = threading.enumerate()
    stream = runner.run_async(USER, "s", "Hi")
    stream.pipe()
    assert (asked, model.calls, threading.enumerate()) == ([[]] * len(METHODS), [], threads)
    Consumer().of(stream).wait()
    assert all(asked[METHODS.index(name)] for name in ("open_run", "get_session", "append_events", "close_run"))
    service.close()


@pytest.mark.promise("J1")
def test_each_subscription_is_an_invocation() -> None:
    """Each subscription of one stream is a new invocation with its own id and its own user event."""
    runner = runner_of(ScriptedModel("Hello.", repeat_last=True))
    stream = runner.run_async(USER, "s", "Hi")
    ids = [Consumer().of(stream).wait().events[0].invocation_id for _ in range(3)]
    assert len(set(ids)) == 3
    assert said(log(runner)) == ["user: Hi", "agent: Hello."] * 3
    assert [event.invocation_id for event in log(runner) if event.author == "user"] == ids


@pytest.mark.promise("J2")
def test_the_order_of_a_run(tmp_path: Path) -> None:
    """The session is loaded or created, the message appended as the user's event, then the agent runs and emits."""
    steps: list[str] = []
    service = SqliteSessionService(tmp_path / "log.db")
    for name in METHODS:
        watch(service, name, lambda *args, name=name: steps.append(name))
    watch(service, "append_events", lambda _, events: steps.append(f"store {said(events)}"))
    runner = runner_of([[lambda _: steps.append("model"), "Hello."]], service=service)
    Consumer(lambda event: steps.append(f"emit {said([event])}")).of(runner.run_async(USER, "s", "Hi")).wait()
    assert steps == [
        "open_run",
        "get_session",
        "create_session",
        "store ['user: Hi']",
        "append_events",
        "model",
        "store ['agent: Hello.']",
        "append_events",
        "emit ['agent: Hello.']",
        "close_run",
    ]
    service.close()


@pytest.mark.promise("J2")
def test_the_users_event_is_never_emitted() -> None:
    """The message becomes an event authored "user" that is appended, and never emitted."""
    runner = runner_of()
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert (said(consumer.events), said(log(runner))) == (["agent: Hello."], ["user: Hi", "agent: Hello."])


@pytest.mark.promise("J2")
@pytest.mark.parametrize(
    ("of_runner", "of_config", "created"),
    [(True, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
def test_an_unknown_session(of_runner: bool, of_config: bool | None, created: bool) -> None:
    """An unknown session is created when the run's configuration, or else the runner, says so; else a typed error."""
    runner = runner_of(auto_create_session=of_runner)
    config = RunConfig(auto_create_session=of_config)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", config)).wait()
    if created:
        assert (consumer.ends, said(log(runner))) == (["completed"], ["user: Hi", "agent: Hello."])
    else:
        assert isinstance(consumer.error, SessionNotFoundError)
        assert (consumer.ends, consumer.events) == (["error"], [])
        assert runner.session_service.get_session(APP, USER, "s") is None


@pytest.mark.promise("J2")
def test_an_existing_session_is_loaded() -> None:
    """A session that exists is loaded, also when sessions are not created, and the model sees what it holds."""
    model = ScriptedModel("Hello.")
    runner = runner_of(model, auto_create_session=False)
    put(runner, Event(author="agent", content=Content.model("Before.")))
    Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert [part.text for content in model.requests[0].contents for part in content.parts or ()] == ["Before.", "Hi"]
