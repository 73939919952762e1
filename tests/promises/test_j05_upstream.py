"""Disposal travels upstream: to the model's socket, and to a tool's own way of stopping."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
import reactivex as rx
from reactivex.disposable import Disposable

from rxagent.models import ChatCompletions
from rxagent.streams import Single, SingleEmitter
from rxagent.testing.chat_server import ChatServer, Turn, stall, status, tell
from rxagent.testing.scripted_model import ScriptedModel, call
from tests.runner.driving import SSE, USER, Consumer, Ends, Gate, log, runner_of, said


@pytest.mark.promise("J5")
@pytest.mark.parametrize("phase", ["headers", "chunks", "backoff"])
def test_the_models_call_ends_with_the_run(phase: str) -> None:
    """A run that is left while its model's server is waited for: the server sees it go, and the next run works."""
    there, ends = threading.Event(), Ends()
    turn: dict[str, Any] = {
        "headers": Turn(["late"], before=[tell(there), stall()]),
        "chunks": ["Once ", tell(there), stall()],
        "backoff": status(503, headers={"Retry-After": "5"}),
    }
    with ChatServer([turn[phase], ["Back."]]) as server:
        runner = runner_of(ChatCompletions("any", base_url=server.base_url), plugins=[ends])
        consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE))
        if phase == "backoff":
            server.wait_requests()
        else:
            assert there.wait(5)
        consumer.dispose()
        assert ends.next().kind == "disposed"
        if phase != "backoff":
            assert server.requests[0].wait_gone() is not None
        assert said(log(runner)) == ["user: Hi"]
        assert said(runner.run(USER, "s", "Again")) == ["agent: Back."]


@pytest.mark.promise("J7")
def test_running_code_is_not_interrupted() -> None:
    """A plain function halfway through a blocking call runs until it returns; then its result is dropped."""
    work, ends, model = Gate(), Ends(), ScriptedModel([call("tool")], "never")

    def tool() -> str:
        """Work."""
        work()
        return "done"

    runner = runner_of(model, tools=[tool], plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert work.entered.wait(5)
    consumer.dispose()
    assert not work.left.is_set()
    work.opened.set()
    assert ends.next().kind == "disposed"
    assert work.left.is_set()
    assert said(log(runner)) == ["user: Hi", "agent: call(tool)"]
    assert (said(consumer.events), len(model.calls)) == (["agent: call(tool)"], 1)


class Cancels:
    """Tools that never end by themselves; `cancelled` is released once per cancel."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.cancelled = threading.Semaphore(0)
        self.pool = ThreadPoolExecutor(1)

    def single(self) -> Single[str]:
        """A Single that is never told."""

        def start(emitter: SingleEmitter[str]) -> None:
            emitter.set_cancellable(self.cancelled.release)
            self.started.set()

        return Single.create(start)

    def observable(self) -> rx.Observable[str]:
        """An Observable that never ends."""

        def subscribe(observer: Any, scheduler: Any = None) -> Disposable:
            self.started.set()
            return Disposable(self.cancelled.release)

        return rx.Observable(subscribe)

    def future(self) -> Future[str]:
        """A Future whose work never begins."""
        future: Future[str] = Future()
        future.add_done_callback(lambda done: self.cancelled.release() if done.cancelled() else None)
        self.started.set()
        return future

    async def coroutine(self) -> str:
        """A coroutine that waits for ever."""
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.release()
        return "never"


@pytest.mark.promise("J8")
@pytest.mark.parametrize("kind", ["single", "observable", "future", "coroutine"])
@pytest.mark.parametrize("mode", ["none", "sequential", "parallel_subscribe"])
def test_a_cancellable_tool_is_disposed_with_the_run(kind: str, mode: Any) -> None:
    """What a tool returned is disposed with the run: its cancel action runs once, and nothing waits for the tool."""
    cancels, ends = Cancels(), Ends()
    tool: Callable[..., Any] = getattr(cancels, kind)

    def other() -> str:
        """Answer."""
        return "other"

    runner = runner_of([[call("other"), call(kind)], "never"], tools=[tool, other], plugins=[ends])
    config = SSE.model_copy(update={"tool_execution_mode": mode})
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", config))
    assert cancels.started.wait(5)
    consumer.dispose()
    assert cancels.cancelled.acquire(timeout=5)
    assert ends.next().kind == "disposed"
    assert not cancels.cancelled.acquire(blocking=False)
    assert said(log(runner)) == ["user: Hi", f"agent: call(other) call({kind})"]
    cancels.pool.shutdown()
