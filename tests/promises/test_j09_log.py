"""The log is the truth: stored, then shown; nothing that was shown is missing, nothing that was not shown follows."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rxagent.errors import AppendError
from rxagent.events import Event
from rxagent.models import ChatCompletions
from rxagent.sessions import InMemorySessionService, Session, SqliteSessionService
from rxagent.testing.chat_server import ChatServer, stall
from rxagent.testing.scripted_model import ScriptedModel, call, gate
from tests.runner.driving import SSE, USER, Consumer, Ends, Gate, log, runner_of, said, watch

ROOT = Path(__file__).parents[2]


def tool() -> str:
    """Work."""
    return "done"


@pytest.mark.promise("J9")
def test_stored_then_shown(tmp_path: Path) -> None:
    """When an event is shown, the store holds it already, and nothing behind it."""
    service = SqliteSessionService(tmp_path / "log.db")
    runner = runner_of([call("tool"), "Done."], tools=[tool], service=service)
    at_the_time: list[list[str]] = []
    consumer = Consumer(lambda _: at_the_time.append(said(log(runner))))
    consumer.of(runner.run_async(USER, "s", "Hi")).wait()
    whole = ["user: Hi", "agent: call(tool)", "agent: response(tool)", "agent: Done."]
    assert at_the_time == [whole[:2], whole[:3], whole]
    service.close()


@pytest.mark.promise("J9")
@pytest.mark.parametrize("failing", [1, 2, 3, 4])
def test_an_append_that_fails(failing: int) -> None:
    """If an append fails, the stream ends with that error and the event is never emitted; nothing follows."""
    model, ends, ran = ScriptedModel([call("work")], ["Done."]), Ends(), list[str]()

    def work() -> str:
        """Work."""
        ran.append("work")
        return "done"

    runner = runner_of(model, tools=[work], plugins=[ends])
    error = AppendError("the disk is gone")

    def fail(*_: object) -> None:
        if len(appends) == failing:
            raise error

    appends = watch(runner.session_service, "append_events", fail)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    whole = ["user: Hi", "agent: call(work)", "agent: response(work)", "agent: Done."]
    assert (consumer.error, consumer.ends) == (error, ["error"])
    assert said(log(runner)) == whole[: failing - 1]
    assert said(consumer.events) == whole[1 : failing - 1]
    assert len(ran) == (failing > 2)
    assert len(model.calls) == [0, 1, 1, 2][failing - 1]
    assert (ends.next().kind, ends.after_run) == ("failed", [])


class AsyncService(InMemorySessionService):
    """Stores in its own time, as a database over the network does."""

    def append_events(self, session: Session, events: Sequence[Event], **options: Any) -> Any:
        async def later() -> list[Event]:
            for _ in range(20):
                await asyncio.sleep(0)
            return super(AsyncService, self).append_events(session, events, **options)

        return later()


@pytest.mark.promise("J10")
@pytest.mark.parametrize("kind", ["memory", "sqlite", "async"])
def test_the_next_step_waits_for_the_log(tmp_path: Path, kind: str) -> None:
    """Each model request contains the events of the step before; a tool starts when its call is stored."""
    service: Any = {
        "memory": InMemorySessionService,
        "sqlite": lambda: SqliteSessionService(tmp_path / "log.db"),
        "async": AsyncService,
    }[kind]()
    at_the_tool: list[list[str]] = []
    at_the_model: list[list[str]] = []

    def work(step: int) -> int:
        """Work."""
        at_the_tool.append(said(log(runner)))
        return step

    def asked(_: object) -> None:
        at_the_model.append(said(log(runner)))

    model = ScriptedModel([asked, call("work", step=1)], [asked, call("work", step=2)], [asked, "Done."])
    runner = runner_of(model, tools=[work], service=service)
    Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    whole = ["user: Hi", *["agent: call(work)", "agent: response(work)"] * 2, "agent: Done."]
    assert at_the_tool == [whole[:2], whole[:4]]
    assert at_the_model == [whole[:1], whole[:3], whole[:5]]
    assert [len(request.contents) for request in model.requests] == [1, 3, 5]
    assert said(log(runner)) == whole
    service.close()


@pytest.mark.promise("J10")
def test_a_slow_append_holds_the_tool_back() -> None:
    """While the append of the call's event is under way, the tool has not started and nothing was shown."""
    appending, started = Gate(), list[str]()

    def work() -> str:
        """Work."""
        started.append("work")
        return "done"

    runner = runner_of([call("work"), "Done."], tools=[work])

    def slow(_: Session, events: Sequence[Event]) -> None:
        if events[0].function_calls:
            appending()

    watch(runner.session_service, "append_events", slow)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert appending.entered.wait(5)
    assert (started, consumer.events) == ([], [])
    appending.opened.set()
    assert said(consumer.wait().events) == ["agent: call(work)", "agent: response(work)", "agent: Done."]
    assert started == ["work"]


@pytest.mark.promise("J11")
def test_partials_are_shown_and_never_stored() -> None:
    """Partial events never reach the service; the final event is their texts put together."""
    with ChatServer([["It ", "is ", "21 ", "degrees."]]) as server:
        runner = runner_of(ChatCompletions("any", base_url=server.base_url))
        stored: list[Event] = []
        watch(runner.session_service, "append_events", lambda _, events: stored.extend(events))
        watch(runner.session_service, "append_event", lambda _, event: stored.append(event))
        consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE)).wait()
    partials, final = consumer.events[:-1], consumer.events[-1]
    assert len(partials) >= 4
    assert all(event.partial for event in partials)
    assert not final.partial
    assert final.text == "".join(event.text or "" for event in partials) == "It is 21 degrees."
    assert said(stored) == said(log(runner)) == ["user: Hi", "agent: It is 21 degrees."]


@pytest.mark.promise("J12")
def test_left_in_mid_answer() -> None:
    """Left in the middle of an answer: the half answer is gone, and there is no special event."""
    ends = Ends()
    runner = runner_of([["Half ", "an ", gate(threading.Event())]], plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE))
    consumer.next()
    consumer.next()
    consumer.dispose()
    outcome = ends.next()
    assert said(log(runner)) == ["user: Hi"]
    assert (outcome.events_saved, outcome.partials_dropped, outcome.calls_sealed) == (0, 2, 0)


@pytest.mark.promise("J12")
def test_left_during_an_append() -> None:
    """An append that a dispose meets may still be stored; its event is not shown, and nothing follows it."""
    appending, ends = Gate(), Ends()
    runner = runner_of([call("tool"), "never"], tools=[tool], plugins=[ends])

    def slow(_: Session, events: Sequence[Event]) -> None:
        if events[0].function_calls:
            appending()

    watch(runner.session_service, "append_events", slow)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert appending.entered.wait(5)
    consumer.dispose()
    appending.opened.set()
    assert ends.next().kind == "disposed"
    assert (said(log(runner)), consumer.events) == (["user: Hi", "agent: call(tool)"], [])


READER = """
import json, sys
from rxagent import SqliteSessionService
session = SqliteSessionService(sys.argv[1]).get_session("app", "me", "s")
print(json.dumps([event.model_dump(mode="json", by_alias=True) for event in session.events]))
"""


@pytest.mark.promise("J15")
@pytest.mark.parametrize("where", ["answer", "tool"])
def test_another_process_reads_the_same(tmp_path: Path, where: str) -> None:
    """Another process that reads the file after the dispose finds what the consumer saw."""
    path, ends, work = tmp_path / "log.db", Ends(), Gate()

    def slow() -> str:
        """Work."""
        work()
        return "done"

    service = SqliteSessionService(path)
    with ChatServer([[call("slow")]] if where == "tool" else [["Half ", stall()]]) as server:
        runner = runner_of(
            ChatCompletions("any", base_url=server.base_url), tools=[slow], service=service, plugins=[ends]
        )
        consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE))
        consumer.next()
        if where == "tool":
            assert work.entered.wait(5)
        consumer.dispose()
        work.opened.set()
        assert ends.next().kind == "disposed"
    read = subprocess.run(
        [sys.executable, "-c", READER, str(path)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    events = [Event.model_validate(fields) for fields in json.loads(read.stdout)]
    assert said(events) == ["user: Hi", *said(consumer.finals)]
    assert len(events) == (2 if where == "tool" else 1)
    assert not any(event.interrupted or event.error_code for event in events)
    service.close()
