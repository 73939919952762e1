"""One run at a time per session: in the order of subscription, and never a wait for oneself."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import reactivex as rx
from reactivex import operators as ops

from rxagent.errors import UsageError
from rxagent.invocation import RunConfig
from rxagent.plugins import BasePlugin
from rxagent.runner import Runner
from rxagent.runner.nesting import refuse_self_wait
from rxagent.sessions import InMemorySessionService, SqliteSessionService
from rxagent.testing.scripted_model import ScriptedModel, call, gate
from tests.runner.driving import SSE, USER, Consumer, Gate, blocks, log, put, runner_of, said


class Overlap:
    """A model's script item that notes whether two runs are at work at once."""

    def __init__(self) -> None:
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()

    def __call__(self, *_: object) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        threading.Event().wait(0.001)
        with self._lock:
            self._now -= 1


@pytest.mark.promise("J16", "threads")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_runs_of_many_threads(tmp_path: Path, kind: str) -> None:
    """Runs of one session, started by eight threads on two runners that share the service, never overlap."""
    service: Any = InMemorySessionService() if kind == "memory" else SqliteSessionService(tmp_path / "log.db")
    overlap = Overlap()

    def tool() -> str:
        """Work."""
        overlap()
        return "done"

    runners = [runner_of([[overlap, call("tool")], ["Done."]] * 24, tools=[tool], service=service) for _ in range(2)]
    put(runners[0])
    barrier = threading.Barrier(8)
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            barrier.wait(5)
            for turn in range(3):
                events = list(runners[number % 2].run(USER, "s", f"{number}.{turn}"))
                assert len(events) in (1, 3)  # two runs share a script: one may get the other's second answer
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert faults == []
    found = blocks(log(runners[0]))
    assert overlap.most == 1
    assert sorted(block[0] for block in found) == sorted(f"user: {n}.{t}" for n in range(8) for t in range(3))
    service.close()


@pytest.mark.promise("J16", "threads")
def test_in_the_order_of_subscription() -> None:
    """Runs of a session go in the order in which they were subscribed, whatever their runner."""
    service, release = InMemorySessionService(), threading.Event()
    runners = [runner_of(ScriptedModel([gate(release), "Done."], repeat_last=True), service=service) for _ in range(3)]
    consumers = [Consumer().of(runners[n % 3].run_async(USER, "s", str(n))) for n in range(9)]
    release.set()
    for consumer in consumers:
        consumer.wait()
    assert [block[0] for block in blocks(log(runners[0]))] == [f"user: {n}" for n in range(9)]


@pytest.mark.promise("J16", "threads")
def test_sessions_do_not_wait_for_each_other() -> None:
    """Fifty sessions run at once: each is in its model call before any may end."""
    together = threading.Barrier(51)
    model = ScriptedModel([lambda _: together.wait(10), "Done."], repeat_last=True)
    runner = runner_of(model)
    consumers = [Consumer().of(runner.run_async(USER, f"s{n}", "Hi")) for n in range(50)]
    together.wait(10)
    assert [said(consumer.wait().events) for consumer in consumers] == [["agent: Done."]] * 50
    assert Counter(len(log(runner, f"s{n}")) for n in range(50)) == {2: 50}


@pytest.mark.promise("J16", "threads")
def test_the_key_is_app_user_session() -> None:
    """The same session id of another user or another app is another session, with a turn of its own."""
    service, held = InMemorySessionService(), Gate()
    holding = runner_of([[held, "Done."]], service=service)
    first = Consumer().of(holding.run_async(USER, "s", "Hi"))
    assert held.entered.wait(5)
    other_app = Runner(holding.agent, app_name="other", session_service=service)
    holding.agent.model = ScriptedModel("Done.", repeat_last=True)  # type: ignore[attr-defined]
    assert said(holding.run("somebody else", "s", "Hi")) == ["agent: Done."]
    assert said(other_app.run(USER, "s", "Hi")) == ["agent: Done."]
    assert first.ends == []
    held.opened.set()
    first.wait()


# -- never a wait for oneself ------------------------------------------------------------------------------------------


def by_run(runner: Runner, session: str) -> object:
    return list(runner.run(USER, session, "inner"))


def by_wait(runner: Runner, session: str) -> object:
    with runner.start(USER, session, "inner") as run:
        return run.wait(5)


def by_handle(runner: Runner, session: str) -> object:
    with runner.start(USER, session, "inner") as run:
        return list(run)


def by_iterating(runner: Runner, session: str) -> object:
    return list(runner.run_async(USER, session, "inner"))


WAITS = [by_run, by_wait, by_handle, by_iterating]
Wait = Callable[[Runner, str], object]


class Inner:
    """Waits once, and keeps what came of it."""

    def __init__(self, wait: Wait, session: str) -> None:
        self.wait, self.session = wait, session
        self.runner: Runner | None = None
        self.result: object = None

    def __call__(self, *_: object) -> None:
        if self.result is not None:
            return
        assert self.runner is not None
        self.result = "waiting"
        try:
            self.result = self.wait(self.runner, self.session)
        except UsageError as error:
            self.result = error


class Hook(BasePlugin):
    """Calls something from a hook."""

    def __init__(self, name: str, inner: Inner) -> None:
        super().__init__("hook")
        setattr(self, name, inner)


@pytest.mark.promise("J16", "reentrant")
@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize(
    "where",
    [
        "tool",
        "before_agent_callback",
        "before_model_callback",
        "before_run_callback",
        "on_user_message_callback",
        "on_event_callback",
        "after_run_callback",
        "on_run_end",
        "on_next",
    ],
)
def test_a_wait_for_oneself_is_refused(where: str, wait: Wait) -> None:
    """A blocking wait for a run of the same session, inside a run of it, raises UsageError instead of hanging."""
    _reentrant(where, wait, "s", refused=True)


@pytest.mark.promise("J16", "reentrant")
@pytest.mark.parametrize("mode", ["sequential", "parallel_subscribe"])
@pytest.mark.parametrize("kind", ["plain", "coroutine", "thread"])
def test_a_wait_for_oneself_in_every_kind_of_tool(kind: str, mode: Any) -> None:
    """Also on the workers of parallel tools, on the loop of a coroutine, and on a thread that it awaits."""
    refused: list[BaseException] = []

    def wait() -> None:
        try:
            list(runner.run(USER, "s", "inner"))
        except UsageError as error:
            refused.append(error)

    def plain() -> None:
        """Work."""
        wait()

    async def coroutine() -> None:
        """Work."""
        wait()

    async def thread() -> None:
        """Work."""
        await asyncio.to_thread(wait)

    runner = runner_of([[call(kind), call(kind)], ["Done."]], tools=[plain, coroutine, thread])
    config = RunConfig(tool_execution_mode=mode)
    assert Consumer().of(runner.run_async(USER, "s", "outer", config)).wait().ends == ["completed"]
    assert len(refused) == 2
    assert [block[0] for block in blocks(log(runner))] == ["user: outer"]


@pytest.mark.promise("J16", "reentrant")
@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("where", ["tool", "before_agent_callback", "after_run_callback", "on_next"])
def test_a_wait_for_another_session_works(where: str, wait: Wait) -> None:
    """The same for a run of another session works."""
    _reentrant(where, wait, "another", refused=False)


@pytest.mark.promise("J16", "reentrant")
@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("where", ["on_completed", "on_error"])
def test_the_end_may_block_on_the_next_turn(where: str, wait: Wait) -> None:
    """In `on_completed` and `on_error` the session is free: a consumer may start the next turn there, and wait."""
    _reentrant(where, wait, "s", refused=False)


def _reentrant(where: str, wait: Wait, session: str, *, refused: bool) -> None:
    inner = Inner(wait, session)

    def tool() -> str:
        """Work."""
        inner() if where == "tool" else None
        return "done"

    hooks = [Hook(where, inner)] if where.endswith(("_callback", "_end")) else []
    turns: list[Any] = [[call("tool")], ["Done."], ["Done."], ["Done."]]
    if where == "on_error":
        turns[1] = ValueError("broken")
    runner = inner.runner = runner_of(turns, tools=[tool], plugins=hooks)
    consumer = Consumer(inner if where == "on_next" else None)
    stream = runner.run_async(USER, "s", "outer")
    if where in ("on_completed", "on_error"):
        stream = stream.pipe(ops.do_action(**{where: inner}))
    consumer.of(stream).wait()
    assert consumer.ends == ["error" if where == "on_error" else "completed"]
    if refused:
        assert isinstance(inner.result, UsageError)
        runner.close()
        assert "user: inner" not in said(log(runner))
    else:
        assert inner.result not in (None, "waiting")
        assert not isinstance(inner.result, Exception)
        assert "user: inner" in said(log(runner, session))


@pytest.mark.promise("J16", "reentrant")
@pytest.mark.parametrize("wait", [lambda run: run.wait(1), list], ids=["wait", "loop"])
def test_a_wait_for_the_own_run_is_refused(wait: Callable[[Any], object]) -> None:
    """A tool that waits for the handle of the run that it is part of, or reads it, gets a UsageError, too."""
    handed, refused = threading.Event(), list[str]()

    def tool() -> str:
        """Work."""
        assert handed.wait(5)
        with pytest.raises(UsageError) as caught:
            wait(run)
        refused.append(str(caught.value))
        return "done"

    run = runner_of([[call("tool")], ["Done."]], tools=[tool]).start(USER, "s", "Hi")
    handed.set()
    outcome = run.wait(5)
    assert outcome is not None
    assert outcome.kind == "completed"
    assert refused == ["this code is part of the run that it waits for; subscribe instead of waiting"]


def test_when_a_wait_asks_again() -> None:
    """A wait for a run in line asks from time to time whether it waits for itself; when that has its turn, no more."""
    held = Gate()
    runner = runner_of([[held, "One."], "Two."])
    first, second = runner.start(USER, "s", "Hi"), runner.start(USER, "s", "Again")
    assert held.entered.wait(5)
    assert [refuse_self_wait(run._run) for run in (first, second)] == [False, True]
    held.opened.set()
    assert second.wait(5) is not None


@pytest.mark.promise("J16", "reentrant")
@pytest.mark.parametrize("where", ["tool", "on_next", "on_completed"])
def test_subscribing_queues(where: str) -> None:
    """Subscribing to a run of the same session never fails: it queues, also inside a tool or `on_next`."""
    inner = Consumer()
    once = iter([1])

    def subscribe(*_: object) -> None:
        if next(once, None):
            inner.of(runner.run_async(USER, "s", "inner"))

    def tool() -> str:
        """Work."""
        subscribe() if where == "tool" else None
        return "done"

    runner = runner_of([[call("tool")], ["Done."], ["Inner."]], tools=[tool])
    stream = runner.run_async(USER, "s", "outer")
    if where == "on_completed":
        stream = stream.pipe(ops.do_action(on_completed=subscribe))
    Consumer(subscribe if where == "on_next" else None).of(stream).wait()
    assert said(inner.wait().events) == ["agent: Inner."]
    assert [block[0] for block in blocks(log(runner))] == ["user: outer", "user: inner"]


@pytest.mark.promise("J16", "reentrant")
def test_concat_and_repeat() -> None:
    """`concat` and `repeat` of runs of one session give turn after turn."""
    runner = runner_of(ScriptedModel("Done.", repeat_last=True))
    one, two = runner.run_async(USER, "s", "one"), runner.run_async(USER, "s", "two")
    Consumer().of(rx.concat(one, two)).wait()
    Consumer().of(one.pipe(ops.repeat(2))).wait()
    assert [block[0] for block in blocks(log(runner))] == ["user: one", "user: two", "user: one", "user: one"]


@pytest.mark.promise("J16", "reentrant")
def test_a_loop_inside_a_loop() -> None:
    """`for event in runner.run(s): list(runner.run(s))` raises UsageError rather than hanging."""
    runner = runner_of([["a", "b", "c", "d"], ["Again."]])

    def loops() -> None:
        for _ in runner.run(USER, "s", "outer", SSE):
            list(runner.run(USER, "s", "inner"))

    with pytest.raises(UsageError, match="iterated here"):
        loops()
    assert said(runner.run(USER, "s", "after")) == ["agent: Again."]


@pytest.mark.promise("J16", "reentrant")
def test_a_loop_inside_a_loop_of_asyncio() -> None:
    """The same for `async for`."""
    runner = runner_of([["a", "b", "c", "d"], ["Again."]])

    async def main() -> None:
        async for _ in runner.stream(USER, "s", "outer", SSE):
            async for _ in runner.stream(USER, "s", "inner"):
                pass

    with pytest.raises(UsageError, match="iterated here"):
        asyncio.run(main())


@pytest.mark.promise("J16", "reentrant")
def test_a_loop_inside_another_sessions_loop() -> None:
    """Two sessions may be iterated one inside the other."""
    runner = runner_of(ScriptedModel(["a", "b", "c", "d"], repeat_last=True))
    inner = [said(runner.run(USER, "t", "inner")) for _ in runner.run(USER, "s", "outer", SSE)]
    assert inner == [["agent: abcd"]] * 5
