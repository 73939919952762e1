"""Append, then emit: what a run does when the store fails, was written by others, or answers in its own time."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rxagent.agents import LlmAgent
from rxagent.errors import FencedError, SessionNotFoundError, StaleSessionError, StoreFullError
from rxagent.events import Content, Event, FunctionResponse, Part
from rxagent.history.sealing import is_seal
from rxagent.invocation import CallbackContext
from rxagent.plugins import BasePlugin
from rxagent.runner import Runner
from rxagent.sessions import (
    InMemorySessionService,
    SessionKey,
    SqliteSessionService,
    current_owner,
)
from rxagent.testing.invariants import log_faults, request_faults
from rxagent.testing.scripted_model import ScriptedModel, call, gate, pause

from .driving import APP, SSE, USER, Consumer, Ends, Gate, log, put, runner_of, said, watch

WHOLE = ["user: Hi", "agent: call(work)", "agent: response(work)", "agent: Done."]


def work() -> str:
    """Work."""
    return "done"


def note(text: str) -> Event:
    """What a user of the service appends."""
    return Event(author="user", content=Content.user(text))


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_direct_append_in_mid_run(tmp_path: Path, kind: str) -> None:
    """Somebody appends directly while a run is under way: the run reads the tail, and goes on behind it."""
    service: Any = InMemorySessionService() if kind == "memory" else SqliteSessionService(tmp_path / "log.db")

    def tool() -> str:
        """Append, as a user of the service may."""
        put(runner, note("By the way"))
        return "done"

    model = ScriptedModel([lambda _: put(runner, note("And")), call("tool")], ["Done."], ["Again."])
    runner = runner_of(model, tools=[tool], service=service)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert said(log(runner)) == [
        "user: Hi",
        "user: And",
        "agent: call(tool)",
        "user: By the way",
        "agent: response(tool)",
        "agent: Done.",
    ]
    assert consumer.ends == ["completed"]
    assert list(log_faults(log(runner))) == []
    assert "And" in [part.text for content in model.requests[1].contents for part in content.parts or ()]
    list(runner.run(USER, "s", "Again"))
    assert list(request_faults(model.requests[2].contents)) == []
    service.close()


def test_state_of_a_direct_append_is_seen() -> None:
    """The state that somebody's direct append sets is the run's when it has read the tail."""

    def tool(tool_context: Any) -> str:
        """Read the state."""
        seen.append(tool_context.state.get("mood"))
        return "done"

    def tell(_: object) -> None:
        put(runner, event)

    seen: list[object] = []
    event = note("By the way")
    event.actions.state_delta["mood"] = "good"
    runner = runner_of([[tell, call("tool")], ["Done."]], tools=[tool])
    Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert seen == ["good"]


def test_an_answer_that_comes_while_the_run_opens() -> None:
    """An open call that somebody answers between the run's look and its first append is not sealed on top."""
    runner = runner_of(ScriptedModel("Back."), tools=[work])
    opened = Event(invocation_id="e-1", author="agent", content=Content(role="model", parts=(_call(),)))
    put(runner, opened)
    answers = [_answer()]
    watch(runner.session_service, "append_events", lambda *_: put(runner, answers.pop()) if answers else None)
    Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert [event.seq for event in log(runner) if is_seal(event)] == []
    assert list(log_faults(log(runner))) == []


def _call() -> Any:
    return call.with_id("adk-1", "work")


def _answer() -> Event:
    part = Part(function_response=FunctionResponse(id="adk-1", name="work", response={"result": 1}))
    return Event(invocation_id="e-1", author="agent", content=Content(role="user", parts=(part,)))


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_lost_turn(tmp_path: Path, kind: str) -> None:
    """A run whose turn another process took is refused by the store: failed (superseded), nothing appended."""
    service: Any = InMemorySessionService() if kind == "memory" else SqliteSessionService(tmp_path / "log.db")
    ends, there, go = Ends(), Gate(), Gate()
    runner = runner_of([[there, "Done."]], service=service, plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert there.entered.wait(5)
    ticket = take_over(service, consumer)
    there.opened.set()
    assert isinstance(consumer.wait().error, FencedError)
    outcome = ends.next()
    assert (outcome.kind, outcome.reason) == ("failed", "superseded")
    assert said(log(runner)) == ["user: Hi"]
    service.close_run(SessionKey(APP, USER, "s"), "other", ticket.epoch)
    go.opened.set()
    assert said(runner_of(["Next."], service=service).run(USER, "s", "Again")) == ["agent: Next."]
    service.close()


def take_over(service: Any, consumer: Consumer) -> Any:
    """Take the turn as another process does after the lease has run out."""
    key = SessionKey(APP, USER, "s")
    if isinstance(service, SqliteSessionService):
        service._file.write(lambda db: db.execute("UPDATE turns SET lease_until = 0"))
    else:
        service.local_runs._turns.clear()
    return service.open_run(key, "other", owner=current_owner("other"), lease=10.0)


def test_a_lost_turn_is_noticed_while_nothing_is_appended(tmp_path: Path) -> None:
    """A run that only waits for its model hears of its lost turn from the keeper, and stops the model call."""
    service, ends = SqliteSessionService(tmp_path / "log.db"), Ends()
    there = Gate()
    model = ScriptedModel([lambda _: there.entered.set(), gate(there.opened), "never"])
    runner = runner_of(model, service=service, plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert there.entered.wait(5)
    take_over(service, consumer)
    assert isinstance(consumer.wait().error, FencedError)
    assert (ends.next().reason, model.calls[0].state) == ("superseded", "stopped")
    service.close()


@pytest.mark.parametrize("recreated", [False, True])
def test_a_session_deleted_in_mid_run(recreated: bool) -> None:
    """A session that is deleted (and made again) in mid-run fails the run, and nothing is appended to the new one."""

    def delete(_: object) -> None:
        service: Any = runner.session_service
        service.delete_session(APP, USER, "s")
        if recreated:
            service.create_session(APP, USER, session_id="s")

    runner = runner_of([[delete, "Done."], ["Again."]])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert isinstance(consumer.error, StaleSessionError if recreated else SessionNotFoundError)
    assert log(runner) == []
    assert said(runner.run(USER, "s", "Hi")) == ["agent: Again."]


FULL = """
import sys
from rxagent import LlmAgent, Runner, SqliteSessionService
from rxagent.testing import ScriptedModel
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
service = SqliteSessionService(sys.argv[1])
runner = Runner(
    LlmAgent(name="agent", model=ScriptedModel(["x" * 400_000], ["Small."])), app_name="app", session_service=service
)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
seen = []
try:
    seen += runner.run("me", "s", "Hi")
except Exception as error:
    print(type(error).__mro__[0].__name__, len(seen))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print([event.text for event in runner.run("me", "s", "Again")])
"""


def test_a_file_that_cannot_grow(tmp_path: Path) -> None:
    """A file that cannot grow: the event is not shown, the run fails with the store's error, the next run works."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "log.db")],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    error, answer = done.stdout.splitlines()
    assert error.split() in (["StoreError", "0"], [StoreFullError.__name__, "0"])
    assert answer == "['Small.']"
    service = SqliteSessionService(tmp_path / "log.db")
    assert said(log(runner_of(service=service))) == ["user: Hi", "user: Again", "agent: Small."]
    service.close()
    assert os.path.getsize(tmp_path / "log.db") > 0


def test_on_event_replaces_what_is_shown() -> None:
    """A replacement by on_event is shown; the store keeps the original, and the next request too."""

    class Replaces(Ends):
        def on_event_callback(self, ctx: Any, event: Event) -> Event | None:
            return event.model_copy(update={"content": Content.model("***")}) if event.text else None

    model = ScriptedModel([call("work")], ["Done."], ["Again."])
    runner = runner_of(model, tools=[work], plugins=[Replaces()])
    assert said(runner.run(USER, "s", "Hi")) == ["agent: call(work)", "agent: response(work)", "agent: ***"]
    assert said(log(runner)) == WHOLE
    list(runner.run(USER, "s", "Again"))
    assert model.requests[-1].contents[-2].text == "Done."


def test_on_event_that_raises() -> None:
    """An error in on_event fails the run: the event is stored and not shown, and nothing follows."""

    class Breaks(Ends):
        def on_event_callback(self, ctx: Any, event: Event) -> None:
            raise ValueError("not that one")

    runner = runner_of([[call("work")], ["Done."]], tools=[work], plugins=[Breaks()])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert (str(consumer.error), consumer.events) == ("not that one", [])
    assert said(log(runner)) == WHOLE[:2]


def test_left_inside_after_run() -> None:
    """A run that is left inside its after-run hook stores nothing more, also not what hooks wrote to the state."""

    class Leaves(Ends):
        def after_run_callback(self, ctx: Any) -> None:
            ctx.invocation.pending_state["mood"] = "good"
            consumer.dispose()

    ends = Leaves()
    runner = runner_of(plugins=[ends])
    consumer = Consumer()
    consumer.of(runner.run_async(USER, "s", "Hi"))
    assert ends.next().kind == "disposed"
    assert said(log(runner)) == ["user: Hi", "agent: Hello."]
    assert consumer.ends == []


def test_state_of_run_hooks() -> None:
    """What run-level hooks write goes out with the next event; what is left at the end, in one event of its own."""

    class Writes(Ends):
        def before_run_callback(self, ctx: Any) -> None:
            ctx.invocation.pending_state["first"] = 1

        def after_run_callback(self, ctx: Any) -> None:
            ctx.invocation.pending_state["last"] = 2

    runner = runner_of(plugins=[Writes()])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert [event.actions.state_delta for event in consumer.events] == [{"first": 1}, {"last": 2}]
    assert [event.author for event in log(runner)] == ["user", "agent", "agent"]


def test_seals_are_not_counted_as_saved(tmp_path: Path) -> None:
    """`events_saved` counts the run's own final events: not the user's, not the seals, not the partials."""
    ends = Ends()
    runner = runner_of(ScriptedModel("Done."), tools=[work], plugins=[ends])
    opened = Event(invocation_id="e-1", author="agent", content=Content(role="model", parts=(_call(),)))
    put(runner, opened)
    events: Sequence[Event] = list(runner.run(USER, "s", "Hi"))
    outcome = ends.next()
    assert (len(events), outcome.events_saved, outcome.calls_sealed) == (1, 1, 1)


def test_partials_that_were_dropped() -> None:
    """An outcome counts the partial events whose whole was never stored, and no others."""
    turns = [["I ", "look. ", call("work")], ["All ", "is ", gate(threading.Event())], ["All ", "is ", "well."]]
    runner = runner_of(turns, tools=[work])
    run = runner.start(USER, "s", "Hi", SSE)
    for event in run:
        if event.text == "is ":
            run.dispose()
    outcome = run.wait(5)
    assert outcome is not None
    assert (outcome.kind, outcome.partials_dropped) == ("disposed", 2)
    run = runner.start(USER, "s", "Again", SSE)
    outcome = run.wait(5)
    assert outcome is not None
    assert (outcome.kind, outcome.partials_dropped) == ("completed", 0)


@pytest.mark.promise("A2")
def test_an_abort_that_meets_on_event() -> None:
    """A stored event whose on-event hook an abort cuts is shown as it was stored; then comes the seal."""
    entered = threading.Event()

    class Slow(BasePlugin):
        async def on_event_callback(self, ctx: Any, event: Event) -> None:
            if event.function_calls:
                entered.set()
                await asyncio.sleep(60)

    runner = runner_of([[call("work")]], tools=[work], plugins=[Slow("slow")])
    run = runner.start(USER, "s", "Hi")
    assert entered.wait(5)
    run.abort()
    assert said(run) == ["agent: call(work)", "agent: response(work)"]
    assert said(log(runner)) == ["user: Hi", "agent: call(work)", "agent: response(work)"]


@pytest.mark.promise("A6")
def test_state_is_nobodys_last_word() -> None:
    """An event without content, which carries a callback's state, is no last word: the run can be aborted."""

    def note(ctx: CallbackContext) -> None:
        ctx.state["noted"] = True

    asked = threading.Event()
    model = ScriptedModel([lambda _: asked.set(), pause(60)])
    run = Runner(LlmAgent(name="agent", model=model, before_agent_callback=note)).start(USER, "s", "Hi")
    assert asked.wait(5)
    run.abort()
    outcome = run.wait(5)
    assert outcome is not None
    assert outcome.kind == "aborted"


@pytest.mark.promise("A6")
def test_state_behind_the_last_word() -> None:
    """What a callback writes to the state behind the final answer takes nothing back: an abort comes too late."""
    written, go_on = threading.Event(), threading.Event()

    class Waits(BasePlugin):
        def on_event_callback(self, ctx: Any, event: Event) -> None:
            if event.actions.state_delta:
                written.set()
                assert go_on.wait(5)

    def note(ctx: CallbackContext) -> None:
        ctx.state["noted"] = True

    agent = LlmAgent(name="agent", model=ScriptedModel("Hello."), after_agent_callback=note)
    run = Runner(agent, plugins=[Waits("waits")]).start(USER, "s", "Hi")
    assert written.wait(5)
    run.abort()
    go_on.set()
    outcome = run.wait(5)
    assert outcome is not None
    assert (outcome.kind, said(run)) == ("completed", ["agent: Hello.", "agent: "])
