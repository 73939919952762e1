"""One run: what ends it, and that it ends once, whatever its code, its consumer and its machine do."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import time
import weakref
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable

from rxagent.agents import BaseAgent
from rxagent.errors import RunError
from rxagent.events import Content, Event
from rxagent.invocation import InvocationContext, RunConfig
from rxagent.runner import Runner
from rxagent.streams import CancelScope, Stopped, idle
from rxagent.streams.workers import workers
from rxagent.testing.invariants import log_faults
from rxagent.testing.scripted_model import ScriptedModel, call, gate
from tests.streams.acting import fast_switches

from .driving import SSE, USER, Consumer, Ends, Gate, log, runner_of, said, watch, within


@pytest.mark.parametrize("error", [SystemExit("enough"), KeyboardInterrupt("enough"), GeneratorExit("enough")])
@pytest.mark.parametrize("mode", ["none", "parallel_subscribe"])
def test_a_base_exception_in_a_tool(error: BaseException, mode: Any) -> None:
    """A SystemExit in a tool fails its run; nobody waits for ever, and the next run of the session works."""
    ends = Ends()

    def tool() -> str:
        """Work."""
        raise error

    def other() -> str:
        """Work."""
        return "other"

    model = ScriptedModel([call("other"), call("tool")], ["Next."])
    runner = runner_of(model, tools=[tool, other], plugins=[ends])
    config = RunConfig(tool_execution_mode=mode)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", config)).wait()
    outcome = ends.next()
    assert (consumer.error, outcome.kind, outcome.error) == (error, "failed", error)
    assert (outcome.reason, ends.after_run) == (type(error).__name__, [])
    assert said(runner.run(USER, "s", "Again", config)) == ["agent: Next."]


def test_a_stop_of_somebody_else() -> None:
    """A Stopped of a scope that is not the run's is an error of the run, not its end in silence."""

    def tool() -> str:
        """Work."""
        other = CancelScope()
        other.cancel("elsewhere")
        raise Stopped(other)

    consumer = Consumer().of(runner_of([call("tool")], tools=[tool]).run_async(USER, "s", "Hi")).wait()
    assert isinstance(consumer.error, RunError)
    assert "elsewhere" in str(consumer.error)


class Endless(BaseAgent):
    """An agent of a user: an endless synchronous stream."""

    def run_async_impl(self, ctx: InvocationContext) -> Observable[Event]:
        def events() -> Iterator[Event]:
            while True:
                yield Event(invocation_id=ctx.invocation_id, author=self.name, content=Content.model("more"))

        return rx.from_iterable(events())


@pytest.mark.parametrize("way", ["inside", "outside"])
def test_an_endless_agent_can_be_left(way: str) -> None:
    """An agent that emits synchronously and without end is stopped by a dispose, from inside and outside."""
    ends, linked = Ends(), threading.Event()

    def on_next(_: Event) -> None:
        assert linked.wait(5)
        if way == "inside" and len(consumer.events) == 3:
            consumer.dispose()

    consumer = Consumer(on_next)
    consumer.of(Runner(Endless(name="endless"), plugins=[ends]).run_async(USER, "s", "Hi"))
    linked.set()
    if way == "outside":
        consumer.next()
        consumer.dispose()
    assert ends.next().kind == "disposed"
    assert way == "outside" or len(consumer.events) == 3


class Foreign(BaseAgent):
    """An agent of a user: its events come from threads of its own."""

    def run_async_impl(self, ctx: InvocationContext) -> Observable[Event]:
        def subscribe(observer: Any, scheduler: Any = None) -> Any:
            def work() -> None:
                for number in range(20):
                    content = Content.model(str(number))
                    observer.on_next(Event(invocation_id=ctx.invocation_id, author=self.name, content=content))
                observer.on_completed()

            thread = threading.Thread(target=work)
            thread.start()
            return rx.disposable.Disposable()

        return Observable(subscribe)


def test_events_from_foreign_threads() -> None:
    """Events that an agent emits on a thread of its own are stored and shown on the run's worker, in order."""
    runner = Runner(Foreign(name="agent"), app_name="app")
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert said(consumer.events) == [f"agent: {number}" for number in range(20)]
    assert said(log(runner)) == ["user: Hi", *said(consumer.events)]
    assert len(consumer.threads) == 1
    assert threading.get_ident() not in consumer.threads


class Stormy(Consumer):
    """Is left when it has seen so many items, or had to wait for them for a while."""

    def __init__(self, moment: int) -> None:
        super().__init__(lambda _: self.reached.set() if len(self.events) >= moment else None)
        self.reached = threading.Event()
        if not moment:
            self.reached.set()

    def leave(self) -> None:
        self.reached.wait(0.2)
        self.dispose()


def test_a_storm_of_disposals() -> None:
    """500 runs, each left at a random moment by a random thread: one outcome each, and the log is what was seen."""
    chance, ends = random.Random(7), Ends()

    async def coroutine() -> str:
        """Work."""
        await asyncio.sleep(0)
        return "done"

    def plain() -> str:
        """Work."""
        return "done"

    turns = [["I ", "look. ", call("coroutine"), call("plain")], ["All ", "is ", "well."]]
    service = runner_of().session_service
    told: list[tuple[Consumer, Runner, str]] = []
    leaving: list[threading.Thread] = []
    for number in range(500):
        runner = runner_of(turns, tools=[coroutine, plain], service=service, plugins=[ends])
        mode: Any = chance.choice(["none", "parallel_subscribe"])
        config = RunConfig(streaming_mode="sse", tool_execution_mode=mode)
        stormy = Stormy(chance.randrange(9))
        stormy.of(runner.run_async(USER, f"s{number}", "Hi", config))
        told.append((stormy, runner, f"s{number}"))
        leaving.append(threading.Thread(target=stormy.leave))
        leaving[-1].start()
        if number % 8 == 7:
            for thread in leaving[-8:]:
                thread.join()
    outcomes = Counter(ends.next().kind for _ in range(500))
    assert outcomes["disposed"] + outcomes["completed"] == 500
    assert outcomes["disposed"] > 0
    assert len(ends.outcomes) == 500
    for consumer, runner, session_id in told:
        events = log(runner, session_id)
        stored, seen = said(events)[1:], said(consumer.finals)
        assert stored[: len(seen)] == seen
        assert len(stored) <= len(seen) + 1
        assert list(log_faults(events)) == []
        assert len(consumer.ends) <= 1


def test_dispose_races_the_end() -> None:
    """A dispose that races the run's own end: one outcome, one on_run_end, at most one end for the consumer."""
    ends, kinds = Ends(), Counter[str]()
    runner = runner_of(ScriptedModel("Hello.", repeat_last=True), plugins=[ends])
    barrier, chance = threading.Barrier(2), random.Random(7)

    def meet(_: Event | None = None) -> None:
        barrier.wait(5)
        time.sleep(chance.choice([0, 1e-5, 1e-4, 3e-4]))  # not a synchronisation: the chance of the race

    with fast_switches():
        for number in range(200):
            consumer = Consumer(meet)
            consumer.of(runner.run_async(USER, f"s{number}", "Hi"))
            meet()
            consumer.dispose()
            outcome = ends.next()
            kinds[outcome.kind] += 1
            assert consumer.ends in ([], ["completed"])
            assert said(log(runner, f"s{number}")) == ["user: Hi", "agent: Hello."]
    assert set(kinds) == {"completed", "disposed"}, kinds
    assert len(ends.outcomes) == 200


# -- a machine without threads -----------------------------------------------------------------------------------------


class Threads:
    """Whether rxagent can start threads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.refused = 0

    def refuse(self) -> None:
        idle.end_all()
        workers.end_idle()
        plain = threading.Thread.start

        def start(thread: threading.Thread) -> None:
            if thread.name.startswith("rxagent"):
                self.refused += 1
                raise RuntimeError("can't start new thread")
            plain(thread)

        self._monkeypatch.setattr(threading.Thread, "start", start)

    def allow(self) -> None:
        self._monkeypatch.undo()


@pytest.fixture
def threads() -> Iterator[Threads]:
    """A machine that can be told to have no thread left."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield Threads(monkeypatch)


def test_no_thread_for_the_run(threads: Threads) -> None:
    """When no thread can be had for a run, it fails with that error and stores nothing; later runs work again."""
    ends = Ends()
    runner = runner_of(ScriptedModel("Hello.", repeat_last=True), plugins=[ends])
    threads.refuse()
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    threads.allow()
    assert isinstance(consumer.error, RuntimeError)
    assert ends.next().kind == "failed"
    assert log(runner) == []
    assert said(runner.run(USER, "s", "Hi")) == ["agent: Hello."]


def test_dispose_needs_no_thread(threads: Threads) -> None:
    """A dispose works when no thread can be had: it does not raise, the runs end, and the session is free."""
    ends, there = Ends(), Gate()
    model = ScriptedModel(["a", lambda _: there.entered.set(), gate(there.opened)], ["Next."])
    runner = runner_of(model, plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE))
    waiting = Consumer().of(runner.run_async(USER, "s", "Wait"))
    assert there.entered.wait(5)
    threads.refuse()
    waiting.dispose()
    assert ends.next().kind == "disposed"
    consumer.dispose()
    assert ends.next().kind == "disposed"
    threads.allow()
    assert threads.refused
    assert said(runner.run(USER, "s", "Again")) == ["agent: Next."]


def test_nothing_holds_an_ended_run() -> None:
    """A run that has ended is free to be collected at once, with its consumer."""
    runner = runner_of(ScriptedModel("Hello.", repeat_last=True))
    seen = watch(runner.session_service, "close_run")
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    ref = weakref.ref(consumer)
    del consumer
    assert seen
    assert within(lambda: gc.collect() >= 0 and ref() is None)
