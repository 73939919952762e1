"""After an abort the session is a valid start for the next turn; and aborts before the run has begun."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from rxagent.errors import SessionBusyError
from rxagent.invocation import AbortSignal, RunConfig
from rxagent.models import ChatCompletions
from rxagent.sessions import SqliteSessionService
from rxagent.testing.chat_server import ChatServer
from rxagent.testing.invariants import log_faults
from rxagent.testing.scripted_model import ScriptedModel, call, pause
from tests.runner.driving import SSE, USER, Consumer, Ends, Gate, log, runner_of, said, watch, within
from tests.streams.acting import dropped_errors

from .stopping import STORY, aborted, next_turn, stage, statuses


@pytest.mark.promise("A7")
def test_a_strict_server_takes_the_next_message(tmp_path: Path) -> None:
    """Aborted in a tool; the next text goes to a server at once: one response per call, no second call."""
    runs: list[str] = []
    entered = threading.Event()

    async def charge(amount: int) -> None:
        """Charge."""
        runs.append(f"charged {amount}")
        entered.set()
        await asyncio.sleep(60)

    with stage(tmp_path, [call("charge", amount=7)], ["Sorry."], tools=[charge]) as world:
        signal = AbortSignal()
        consumer = Consumer().of(world.runner.run_async(USER, "s", "Charge 7", abort_signal=signal))
        assert entered.wait(5)
        signal.set()
        after = Consumer().of(world.runner.run_async(USER, "s", "And now?"))  # while the first one is still stopping
        consumer.wait()
        after.wait()
        assert said(after.events) == ["agent: Sorry."]
        sent: Any = world.server.requests[1].json["messages"]
        assert [message["role"] for message in sent][-4:] == ["user", "assistant", "tool", "user"]
        assert sent[-3]["tool_calls"][0]["id"] == sent[-2]["tool_call_id"]
        assert "stopped" in sent[-2]["content"]
        assert runs == ["charged 7"]
        assert list(log_faults(log(world.runner))) == []


@pytest.mark.promise("A7")
def test_at_once_while_the_tool_unwinds(tmp_path: Path) -> None:
    """The next message is sent at once, while the stopped tool still unwinds: its run waits for the seal."""
    service = SqliteSessionService(tmp_path / "log.db")
    entered, unwinds = threading.Event(), threading.Event()

    async def slow() -> str:
        """Take time to stop."""
        entered.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.to_thread(unwinds.wait, 5)
        return "never"

    runner = runner_of(ScriptedModel([call("slow")], ["Back."]), tools=[slow], service=service)
    signal = AbortSignal()
    first = Consumer().of(runner.run_async(USER, "s", "Hi", abort_signal=signal))
    assert entered.wait(5)
    signal.set()
    second = Consumer().of(runner.run_async(USER, "s", "More"))
    unwinds.set()
    first.wait()
    second.wait()
    assert said(log(runner)) == [
        "user: Hi",
        "agent: call(slow)",
        "agent: response(slow)",
        "user: More",
        "agent: Back.",
    ]
    assert statuses(log(runner)) == {"slow": "stopped"}
    service.close()


@pytest.mark.promise("A8")
def test_set_before_the_run(tmp_path: Path) -> None:
    """A signal that is set at the start: the message is stored, no model is called, the run is aborted."""
    with stage(tmp_path, ["Never."]) as world:
        signal = AbortSignal()
        signal.set("worker_shutdown")
        consumer = Consumer().of(world.runner.run_async(USER, "s", "Hi", abort_signal=signal)).wait()
        outcome = world.ends.next()
        assert (outcome.kind, outcome.reason, consumer.ends) == ("aborted", "worker_shutdown", ["completed"])
        assert said(log(world.runner)) == ["user: Hi", "agent: "]
        aborted(log(world.runner), "worker_shutdown")
        assert world.server.requests == []
        next_turn(world.runner)


@pytest.mark.promise("A8")
@pytest.mark.parametrize("kind", [threading.Event, asyncio.Event])
def test_an_event_set_before_the_run(kind: Any) -> None:
    """The same with an Event; and a signal that an earlier run left set does not touch a run with one of its own."""
    event = kind()
    event.set()
    model = ScriptedModel(["Hello."])
    runner = runner_of(model)
    Consumer().of(runner.run_async(USER, "s", "Hi", abort_signal=event)).wait()
    assert (said(log(runner)), len(model.calls)) == (["user: Hi", "agent: "], 0)
    assert said(runner.run(USER, "s", "Again", abort_signal=kind())) == ["agent: Hello."]


@pytest.mark.promise("A8")
@pytest.mark.parametrize("door", ["handle", "signal", "deadline"])
def test_in_the_queue(door: str) -> None:
    """Aborted while it waits for its turn: it leaves at once, stores nothing, and completes; the first run goes on."""
    gate, ends = Gate(), Ends()

    def tool() -> str:
        """Work."""
        gate()
        return "done"

    runner = runner_of(ScriptedModel([call("tool")], ["Done."]), tools=[tool], plugins=[ends])
    first = Consumer().of(runner.run_async(USER, "s", "First"))
    assert gate.entered.wait(5)
    signal = AbortSignal()
    config = RunConfig(timeout=0.05) if door == "deadline" else None
    second = runner.start(USER, "s", "Second", config, abort_signal=signal)
    assert second.state == ("waiting" if door != "deadline" else second.state)
    with dropped_errors() as dropped:
        if door == "handle":
            second.abort()
        elif door == "signal":
            signal.set()
        outcome = second.wait(5)
    assert outcome is not None
    assert dropped.empty()  # it has no end of its own to store
    assert (outcome.kind, list(second), outcome.events_saved) == ("aborted", [], 0)
    gate.opened.set()
    first.wait()
    assert said(log(runner)) == ["user: First", "agent: call(tool)", "agent: response(tool)", "agent: Done."]


@pytest.mark.promise("A8")
@pytest.mark.parametrize("refusals", [0, 1], ids=["at once", "behind another process"])
def test_while_the_session_is_loaded(refusals: int) -> None:
    """Asked while the session is being loaded: nothing is lost; the message is stored, no model is called."""
    gate, model = Gate(), ScriptedModel(["Never."])
    runner = runner_of(model)
    busy = iter([SessionBusyError("another process has the turn")] * refusals)

    def refuse(*_: object) -> None:
        for error in busy:
            raise error

    watch(runner.session_service, "open_run", refuse)
    watch(runner.session_service, "get_session", gate)
    run = runner.start(USER, "s", "Hi")
    assert gate.entered.wait(5)
    run.abort()
    assert run.outcome is None
    gate.opened.set()
    outcome = run.wait(5)
    assert outcome is not None
    assert (outcome.kind, said(log(runner)), len(model.calls)) == ("aborted", ["user: Hi", "agent: "], 0)


@pytest.mark.promise("A8")
def test_a_session_that_is_never_loaded() -> None:
    """A store that hangs while the session is loaded holds a stopped run no longer than the grace."""
    gate = Gate()
    runner = runner_of()
    watch(runner.session_service, "get_session", gate)
    run = runner.start(USER, "s", "Hi", RunConfig(cancel_grace_period=0.1))
    assert gate.entered.wait(5)
    run.abort()
    outcome = run.wait(5)
    assert outcome is not None
    assert (outcome.kind, outcome.events_saved) == ("aborted", 0)
    gate.opened.set()
    assert within(lambda: runner.leftovers() == [])
    assert log(runner) == []


def test_a_deadline_is_an_abort(tmp_path: Path) -> None:
    """`RunConfig.timeout` aborts with `request_timeout`, and the limit that has fired stands in the outcome's error."""
    with stage(tmp_path) as world:
        run = world.runner.start(USER, "s", "Hi", SSE.model_copy(update={"timeout": 0.1}))
        outcome = run.wait(5)
        assert outcome is not None
        assert str(outcome).startswith("aborted (request_timeout): 1 event saved, ")
        assert "longer than its 0.1 s" in str(outcome.error)
        world.is_stopped("request_timeout", "user: Hi")


def test_many_stops_leave_the_server_free() -> None:
    """Fifty starts and stops of silent runs over two connections; then a run is served as ever."""
    answers: list[Any] = [STORY] * 50 + [["Here."]]
    with ChatServer(answers) as server:
        model = ChatCompletions("any", base_url=server.base_url)
        runner = runner_of(model)
        for number in range(50):
            with runner.start(USER, f"s{number}", "Hi", SSE) as run:
                next(iter(run))
                run.abort()
                assert run.wait(5) is not None
        assert said(runner.run(USER, "s", "Hi")) == ["agent: Here."]
        assert all(request.wait_gone() is not None for request in server.requests[:50])
        model.close()


def test_the_first_decision_wins() -> None:
    """A dispose after an abort stops the delivery, the seal is written; and the other way round."""
    for first, second in (("abort", "dispose"), ("dispose", "abort")):
        runner = runner_of([["Once ", pause(60)]])
        run = runner.start(USER, "s", "Hi", SSE)
        next(iter(run))
        getattr(run, first)()
        getattr(run, second)()
        outcome = run.wait(5)
        assert outcome is not None
        assert outcome.kind == ("aborted" if first == "abort" else "disposed")
        assert len(log(runner)) == (2 if first == "abort" else 1)
