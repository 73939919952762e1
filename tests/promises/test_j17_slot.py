"""The session's slot: whoever had it gives it back, however it ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import reactivex as rx

from rxagent.invocation import InvocationContext, RunConfig
from rxagent.plugins import BasePlugin
from rxagent.sessions import InMemorySessionService, SqliteSessionService
from rxagent.testing.scripted_model import ScriptedModel, gate
from tests.runner.driving import SSE, USER, Consumer, Ends, Gate, blocks, log, runner_of, said, watch, within


@pytest.fixture(params=["memory", "sqlite"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Each of the built-in services."""
    made: Any = InMemorySessionService() if request.param == "memory" else SqliteSessionService(tmp_path / "log.db")
    yield made
    made.close()


@pytest.mark.promise("J17")
@pytest.mark.parametrize("how", ["completed", "failed", "disposed"])
def test_the_slot_is_released(service: Any, how: str) -> None:
    """Completion, error and dispose release the slot alike; what one run met does not reach the next."""
    turns: list[Any] = [
        {"completed": ["Done."], "failed": ValueError("broken"), "disposed": ["a", gate(Gate().opened)]}
    ]
    runner = runner_of([turns[0][how], ["Next."]], service=service)
    first = Consumer().of(runner.run_async(USER, "s", "Hi", SSE))
    second = Consumer().of(runner.run_async(USER, "s", "Again"))
    if how == "disposed":
        first.next()
        first.dispose()
    assert said(second.wait().events) == ["agent: Next."]
    assert second.ends == ["completed"]
    assert first.ends == {"completed": ["completed"], "failed": ["error"], "disposed": []}[how]


@pytest.mark.promise("J17")
def test_a_waiting_run_that_leaves(service: Any) -> None:
    """A run disposed while it waits stores nothing, and does not let the run behind it overtake the running one."""
    held, ends = threading.Event(), Ends()
    runner = runner_of([[gate(held), "One."], ["Three."]], service=service, plugins=[ends])
    first = Consumer().of(runner.run_async(USER, "s", "one"))
    second = runner.start(USER, "s", "two")
    third = Consumer().of(runner.run_async(USER, "s", "three"))
    assert second.state == "waiting"
    second.dispose()
    outcome = ends.next()
    assert (outcome.kind, outcome.events_saved) == ("disposed", 0)
    assert (third.events, third.ends, second.state) == ([], [], "ended")
    held.set()
    first.wait()
    third.wait()
    assert [block[0] for block in blocks(log(runner))] == ["user: one", "user: three"]


@pytest.mark.promise("J17")
@pytest.mark.parametrize("method", ["open_run", "get_session", "create_session", "append_events"])
def test_left_while_it_begins(service: Any, method: str) -> None:
    """A run that is left while the store is at work for its beginning does not leave the session locked."""
    storing, ends = Gate(), Ends()
    runner = runner_of(ScriptedModel("Next.", repeat_last=True), service=service, plugins=[ends])
    watch(service, method, storing)
    first = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert storing.entered.wait(5)
    second = Consumer().of(runner.run_async(USER, "s", "Again"))
    first.dispose()
    assert second.events == []
    storing.opened.set()
    assert ends.next().kind == "disposed"
    assert said(second.wait().events) == ["agent: Next."]
    assert first.ends == []


@pytest.mark.promise("J17")
def test_left_while_it_begins_and_past_its_grace(service: Any) -> None:
    """A turn that the store hands to a run which has long ended is given back at once."""
    storing, ends = Gate(), Ends()
    first_call = iter([storing])
    watch(service, "open_run", lambda *_: next(first_call, int)())
    runner = runner_of(ScriptedModel("Next.", repeat_last=True), service=service, plugins=[ends])
    first = Consumer().of(runner.run_async(USER, "s", "Hi", RunConfig(cancel_grace_period=0)))
    assert storing.entered.wait(5)
    first.dispose()
    assert ends.next().kind == "disposed"
    assert said(runner.run(USER, "s", "Again")) == ["agent: Next."]
    storing.opened.set()
    assert within(lambda: runner.leftovers() == [])
    assert said(runner.run(USER, "s", "Again")) == ["agent: Next."]
    assert said(log(runner)) == ["user: Again", "agent: Next."] * 2


@pytest.mark.promise("J17")
def test_left_before_it_starts() -> None:
    """A subscription that is left before its start has come leaves nothing in the runner, and no turn."""
    ends = Ends()
    runner = runner_of(ScriptedModel("Next.", repeat_last=True), plugins=[ends])

    def later(_: Any, __: Any) -> Any:
        handle = runner.run_async(USER, "s", "never").subscribe()
        handle.dispose()
        assert ends.next().kind == "disposed"
        assert within(lambda: "0 runs" in repr(runner))

    rx.scheduler.CurrentThreadScheduler.singleton().schedule(later)
    assert said(runner.run(USER, "s", "Hi")) == ["agent: Next."]
    assert within(lambda: "0 runs" in repr(runner))
    assert said(log(runner)) == ["user: Hi", "agent: Next."]


class Tells(BasePlugin):
    def before_run_callback(self, ctx: InvocationContext) -> None:
        raise ValueError("not today")


@pytest.mark.promise("J17")
def test_an_error_before_the_agent() -> None:
    """An error of a hook before the agent fails that run, and frees the session."""
    runner = runner_of(plugins=[Tells("tells")])
    for _ in range(2):
        assert str(Consumer().of(runner.run_async(USER, "s", "Hi")).wait().error) == "not today"
