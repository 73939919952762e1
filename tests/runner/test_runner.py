"""Runner: its four doors, what it refuses at the call, and closing it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rxagent.errors import ConfigError, NotResumableError, UsageError
from rxagent.events import Content, Part
from rxagent.plugins import BasePlugin
from rxagent.runner import App, Runner
from rxagent.sessions import InMemorySessionService
from rxagent.testing.scripted_model import ScriptedModel

from .driving import APP, USER, Consumer, Ends, log, runner_of, said, watch


def test_the_four_doors_take_the_same() -> None:
    """run_async, run, start and stream take the same arguments and give the same events."""
    runner = runner_of(ScriptedModel("Hello.", repeat_last=True))
    args: Any = (USER, "s", "Hi", None)
    given: Any = {"state_delta": {"mood": "good"}}

    async def streamed() -> list[str]:
        return said([event async for event in runner.stream(*args, **given)])

    answers = [
        said(Consumer().of(runner.run_async(*args, **given)).wait().events),
        said(runner.run(*args, **given)),
        said(runner.start(*args, **given)),
        asyncio.run(streamed()),
    ]
    assert answers == [["agent: Hello."]] * 4
    users = [event for event in log(runner) if event.author == "user"]
    assert [event.actions.state_delta for event in users] == [{"mood": "good"}] * 4


@pytest.mark.parametrize("message", ["Hi", Content.user("Hi"), [Part(text="Hi")]], ids=["text", "content", "parts"])
def test_what_a_message_is(message: Any) -> None:
    """A message is a text, a Content, or a list of Parts."""
    runner = runner_of()
    list(runner.run(USER, "s", message))
    assert said(log(runner)) == ["user: Hi", "agent: Hello."]


def test_what_is_refused_at_the_call() -> None:
    """Wrong Python types and `invocation_id` of an app that is not resumable are raised at the call."""
    runner = runner_of()
    wrong: Any = 7
    with pytest.raises(TypeError):
        runner.run_async(USER, "s", wrong)
    with pytest.raises(TypeError):
        runner.run_async(USER, wrong, "Hi")
    with pytest.raises(NotResumableError):
        runner.run_async(USER, "s", "Hi", invocation_id="e-1")


@pytest.mark.parametrize("message", [None, [], Content(parts=())], ids=["none", "no parts", "empty content"])
def test_a_message_without_parts(message: Any) -> None:
    """A message without parts is an error of the stream, before any hook, and nothing is stored."""
    ends = Ends()
    told: list[str] = []

    class Hears(BasePlugin):
        def on_run_error_callback(self, ctx: Any, error: BaseException) -> None:
            told.append("error")

        def on_user_message_callback(self, ctx: Any, message: Content) -> None:
            told.append("message")

    runner = runner_of(plugins=[Hears("hears"), ends])
    consumer = Consumer().of(runner.run_async(USER, "s", message)).wait()
    assert isinstance(consumer.error, UsageError)
    assert (told, log(runner), ends.next().kind) == ([], [], "failed")


def test_agent_or_app() -> None:
    """A Runner takes an agent, or an App with name and plugins of its own; not both, not neither."""
    agent, plugin = runner_of().agent, Ends()
    app = App("named", agent, plugins=[plugin])
    runner = Runner(app=app)
    list(runner.run(USER, "s", "Hi"))
    assert (runner.app_name, plugin.next().kind) == ("named", "completed")
    assert Runner(agent).app_name == "agent"
    wrong: Any = "agent"
    for arguments in ({}, {"agent": agent, "app": app}, {"app": app, "app_name": "x"}, {"agent": wrong}):
        with pytest.raises(ConfigError):
            Runner(**arguments)


@pytest.mark.parametrize("name", ["", "user", "7up", "my app", "a-b"])
def test_names_of_apps(name: str) -> None:
    """An app's name is letters, digits and underscores, and is not `user`."""
    with pytest.raises(ConfigError):
        App(name, runner_of().agent)


def test_close_twice_and_services_of_others() -> None:
    """A second close does nothing; a service that the runner was given stays open."""
    service = InMemorySessionService()
    closed = watch(service, "close")
    plugin_closed: list[str] = []

    class Closes(BasePlugin):
        def close(self) -> None:
            plugin_closed.append(self.name)
            raise ValueError("cannot close")

    runner = runner_of(service=service, plugins=[Closes("one"), Closes("two")])
    runner.close()
    runner.close()
    assert (closed, plugin_closed) == ([], ["one", "two"])
    assert repr(runner) == f"<Runner {APP}: <LlmAgent 'agent'>, 0 runs>"


def test_a_closed_runner_runs_nothing() -> None:
    """Each door refuses at the call; a stream that was made before fails as it is subscribed."""
    runner = runner_of(["Never."])
    stream = runner.run_async(USER, "s", "Hi")
    runner.close()
    for door in (runner.run_async, runner.run, runner.stream, runner.start):
        with pytest.raises(UsageError, match="closed"):
            door(USER, "s", "Hi")
    late = Consumer().of(stream).wait()
    assert (late.events, log(runner)) == ([], [])
    assert isinstance(late.error, UsageError)
