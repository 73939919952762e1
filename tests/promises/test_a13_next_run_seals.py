"""Whatever ended the earlier run, the next plain message first seals what it left open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from rxagent.errors import RxAgentError
from rxagent.events import Content, Event, FunctionResponse, Part
from rxagent.history.sealing import is_seal
from rxagent.sessions import SqliteSessionService
from rxagent.testing.invariants import log_faults, request_faults
from rxagent.testing.scripted_model import ScriptedModel, call
from rxagent.tools import LongRunningFunctionTool
from tests.runner.driving import USER, Consumer, Ends, Gate, log, put, runner_of, said

ROOT = Path(__file__).parents[2]


def work() -> str:
    """Work."""
    return "done"


def sealed_by_the_next(runner: Any, model: ScriptedModel) -> Event:
    """Send a plain message; returns the seal that it must have written."""
    before = log(runner)
    consumer = Consumer().of(runner.run_async(USER, "s", "Go on")).wait()
    after = log(runner)
    seal, user, answer = after[len(before) :]
    assert after[: len(before)] == before
    assert (said([user, answer]), said(consumer.events)) == (["user: Go on", "agent: Back."], ["agent: Back."])
    assert is_seal(seal)
    assert (list(log_faults(after)), list(request_faults(model.requests[-1].contents))) == ([], [])
    return seal


@pytest.mark.promise("A13", "plain_message")
@pytest.mark.parametrize("how", ["disposed", "failed"])
def test_after_a_dispose_and_an_error(tmp_path: Path, how: str) -> None:
    """After a dispose inside a tool, or a failed run, the open call is sealed before the next message, unseen."""
    gate, ends, service = Gate(), Ends(), SqliteSessionService(tmp_path / "log.db")

    def tool() -> str:
        """Work."""
        gate()
        if how == "failed":
            raise SystemExit("no more")
        return "done"

    model = ScriptedModel([call("tool")], ["Back."])
    runner = runner_of(model, tools=[tool], service=service, plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert gate.entered.wait(5)
    if how == "disposed":
        consumer.dispose()
    gate.opened.set()
    assert ends.next().kind == how
    opened = log(runner)[-1]
    seal = sealed_by_the_next(runner, model)
    assert (seal.invocation_id, seal.author, seal.branch) == (opened.invocation_id, "agent", opened.branch)
    assert seal.function_responses[0].id == opened.function_calls[0].id
    assert (seal.function_responses[0].response or {})["status"] == "unknown"
    assert ends.next().calls_sealed == 1
    service.close()


KILLED = textwrap.dedent("""
    import sys, time
    from rxagent import LlmAgent, Runner, SqliteSessionService
    from rxagent.testing import ScriptedModel, call

    def tool() -> str:
        '''Work.'''
        print("working", flush=True)
        time.sleep(60)

    agent = LlmAgent(name="agent", model=ScriptedModel([call("tool")]), tools=[tool])
    list(Runner(agent, app_name="app", session_service=SqliteSessionService(sys.argv[1])).run("me", "s", "Hi"))
""")


@pytest.mark.promise("A13", "plain_message")
def test_after_kill_9(tmp_path: Path) -> None:
    """After `kill -9` of the process in the middle of a tool another process seals the call, and goes on."""
    path = tmp_path / "log.db"
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"working\n"
        os.kill(child.pid, signal.SIGKILL)
    service, model = SqliteSessionService(path), ScriptedModel(["Back."])
    runner = runner_of(model, service=service)
    assert said(log(runner)) == ["user: Hi", "agent: call(tool)"]
    seal = sealed_by_the_next(runner, model)
    assert seal.invocation_id == log(runner)[0].invocation_id
    service.close()


@pytest.mark.promise("A13", "plain_message")
def test_a_designed_pause_is_not_sealed() -> None:
    """A pause by design stays open: it is answerable, and the next plain message does not seal it."""
    model, ends = ScriptedModel([call("work")], ["Back."]), Ends()
    runner = runner_of(model, tools=[LongRunningFunctionTool(lambda: None, name="work")], plugins=[ends])
    Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert ends.next().kind == "paused"
    Consumer().of(runner.run_async(USER, "s", "Go on")).wait()
    assert not any(is_seal(event) for event in log(runner))
    assert ends.next().calls_sealed == 0


@pytest.mark.promise("A13", "plain_message")
def test_what_the_message_answers_is_not_sealed() -> None:
    """A call that the new message itself answers is not sealed; the others of its event are."""
    model = ScriptedModel(["Back."])
    runner = runner_of(model, tools=[work])
    calls = (call.with_id("adk-1", "work"), call.with_id("adk-2", "work"))
    put(runner, Event(invocation_id="e-1", author="agent", content=Content(role="model", parts=calls)))
    answer = Part(function_response=FunctionResponse(id="adk-2", name="work", response={"result": 2}))
    Consumer().of(runner.run_async(USER, "s", [answer])).wait()
    seals = [event for event in log(runner) if is_seal(event)]
    assert [[one.id for one in event.function_responses] for event in seals] == [["adk-1"]]
    assert list(request_faults(model.requests[0].contents)) == []


@pytest.mark.promise("A13", "plain_message")
def test_seals_and_message_are_one_act() -> None:
    """Seals and the user's event are stored in one act: when it fails nothing was written, and the next run seals."""
    model = ScriptedModel(["Back."])
    runner = runner_of(model, tools=[work])
    opened = Event(invocation_id="e-1", author="agent", content=Content(role="model", parts=(call("work"),)))
    put(runner, opened)
    service: Any = runner.session_service
    plain = service.append_events

    def fail(*_: Any, **__: Any) -> None:
        raise RxAgentError("the disk is gone")

    service.append_events = fail
    assert Consumer().of(runner.run_async(USER, "s", "Go on")).wait().ends == ["error"]
    service.append_events = plain
    assert len(log(runner)) == 1
    sealed_by_the_next(runner, model)
