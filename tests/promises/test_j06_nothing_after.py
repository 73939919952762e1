"""After a dispose nothing more starts, is stored or is shown: at every event and partial of recorded runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from rxagent.events import Event
from rxagent.invocation import RunConfig
from rxagent.models import ChatCompletions
from rxagent.runner import Runner
from rxagent.sessions import SqliteSessionService
from rxagent.streams import Single, SingleEmitter
from rxagent.testing.chat_server import ChatServer
from rxagent.testing.scripted_model import ScriptedModel, call
from tests.runner.driving import SSE, USER, Consumer, Ends, log, runner_of, said, watch

POOL = ThreadPoolExecutor(2, thread_name_prefix="rxagent-test-pool")


def plain(step: int) -> int:
    """Answer on the spot."""
    return step


async def coroutine(step: int) -> int:
    """Answer from the loop."""
    return step


def single(step: int) -> Single[int]:
    """Answer from a pool."""

    def start(emitter: SingleEmitter[int]) -> None:
        emitter.set_cancellable(POOL.submit(emitter.on_success, step).cancel)

    return Single.create(start)


TURNS: list[list[Any]] = [
    ["I ", "look. ", call("plain", step=1), call("coroutine", step=2), call("single", step=3)],
    ["And ", call("plain", step=4)],
    ["All ", "is ", "well."],
]
TOOLS = [plain, coroutine, single]


class Recorded:
    """One run of the scenario; `left_at`: how many items it shows before `leave` is called."""

    def __init__(self, runner: Runner, model_calls: Callable[[], int], config: RunConfig) -> None:
        self.runner, self.model_calls, self.config = runner, model_calls, config
        self.ends = Ends()
        runner.plugins = type(runner.plugins)((self.ends,))
        self.appends = watch(runner.session_service, "append_events")
        self.handles: SimpleQueue[Consumer] = SimpleQueue()

    def whole(self) -> list[Event]:
        consumer = Consumer().of(self.runner.run_async(USER, "s", "Hi", self.config)).wait()
        assert consumer.ends == ["completed"]
        return consumer.events

    def left(self, at: int, way: str) -> None:
        """Leave at item `at`, and look at everything."""
        standing: list[tuple[int, int, int]] = []
        reached, may_go = threading.Event(), threading.Event()

        def on_next(_: Event) -> None:
            if len(consumer.events) != at:
                return
            if way == "inside":
                assert may_go.wait(5)
                consumer.dispose()
                standing.append(self.counts(consumer))
            reached.set()
            if way == "while on_next runs":
                assert may_go.wait(5)

        consumer = Consumer(on_next)
        consumer.of(self.runner.run_async(USER, "s", "Hi", self.config))
        if way == "inside":
            may_go.set()
        else:
            assert reached.wait(5)
            consumer.dispose()
            standing.append(self.counts(consumer))
            may_go.set()
        outcome = self.ends.next()
        seen, stored = said(consumer.finals), said(log(self.runner))
        if outcome.kind == "completed":  # only where the last item was shown before the other thread could leave
            assert way == "from a thread"
            return
        assert outcome.kind == "disposed"
        assert self.ends.after_run == []
        under_way = 1 if way == "from a thread" else 0  # what was just being entered, and could not know of the dispose
        assert all(now - then <= under_way for now, then in zip(self.counts(consumer), standing[0], strict=True))
        assert consumer.ends == []
        assert stored[0] == "user: Hi"
        assert stored[1 : len(seen) + 1] == seen
        assert len(stored) - 1 - len(seen) <= under_way
        if not under_way:
            assert len(consumer.events) == at

    def counts(self, consumer: Consumer) -> tuple[int, int, int]:
        return len(consumer.events), len(self.appends), self.model_calls()


WAYS = ["inside", "while on_next runs", "from a thread"]


@pytest.mark.promise("J6", "llm")
@pytest.mark.promise("J12")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["none", "sequential", "parallel_subscribe"])
def test_at_every_item(way: str, mode: Any) -> None:
    """Left at any event or partial, a run starts, stores and shows nothing more, and the log is what was seen."""
    config = RunConfig(streaming_mode="sse", tool_execution_mode=mode)

    def recorded() -> Recorded:
        model = ScriptedModel(*TURNS)
        return Recorded(runner_of(model, tools=TOOLS), lambda: len(model.calls), config)

    count = len(recorded().whole())
    assert count == 11
    for at in range(1, count + 1):
        recorded().left(at, way)


@pytest.mark.promise("J6", "llm")
@pytest.mark.promise("J12")
@pytest.mark.parametrize("way", WAYS)
def test_at_every_item_of_a_real_model(tmp_path: Path, way: str) -> None:
    """The same over a real socket and a real file; after each dispose the next turn works over the same connections."""
    count = 0
    for at in range(12):
        service = SqliteSessionService(tmp_path / f"{at}.db")
        with ChatServer([*TURNS, *TURNS]) as server:
            model = ChatCompletions("any", base_url=server.base_url)
            one = Recorded(runner_of(model, tools=TOOLS, service=service), lambda: len(server.requests), SSE)
            if at == 0:
                count = len(one.whole())
                assert count == 11
            elif at <= count:
                one.left(at, way)
                model_of_next = ScriptedModel(["Back."])
                one.runner.agent.model = model_of_next  # type: ignore[attr-defined]
                assert said(one.runner.run(USER, "s", "Again")) == ["agent: Back."]
        service.close()


@pytest.fixture(autouse=True, scope="module")
def no_pool_left() -> Any:
    """The pool of the tools outlives each test."""
    POOL.submit(int).result()
    POOL.submit(int).result()
    yield
    POOL.shutdown()
