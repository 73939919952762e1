"""A run that is left while a callback or a plugin's hook is at work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from reactivex import Observable

from rxagent.events import Content
from rxagent.models import BaseLlm, LlmRequest, LlmResponse
from rxagent.plugins import BasePlugin
from rxagent.plugins.hooks import HOOKS
from rxagent.streams import Blocking, Single, SingleEmitter
from rxagent.testing.scripted_model import ScriptedModel, call
from rxagent.tools import BaseTool
from tests.plugins.answering import AGENT_CASES, FORMS, Hooked, Noting
from tests.promises.desk import mode
from tests.runner.driving import USER, Consumer, Ends, log, runner_of, said

RUN_HOOKS = ["on_user_message_callback", "before_run_callback", "on_event_callback", "after_run_callback"]


class Stuck:
    """A hook that comes to no end by itself: blocking code, a coroutine, a Single. entered, cancelled: how often."""

    def __init__(self, kind: str) -> None:
        self.entered, self.cancelled = threading.Semaphore(0), threading.Semaphore(0)
        self.goes_on = threading.Event()
        self.hook: Any = getattr(self, f"_{kind}")
        self.is_plain = kind == "plain"

    def _plain(self, *args: Any) -> Any:
        if self.goes_on.is_set():
            return None
        self.entered.release()
        assert self.goes_on.wait(5)
        return "late"

    async def _coroutine(self, *args: Any) -> None:
        if self.goes_on.is_set():
            return
        self.entered.release()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.release()
            raise

    def _single(self, *args: Any) -> Any:
        if self.goes_on.is_set():
            return None

        def start(emitter: SingleEmitter[None]) -> None:
            emitter.set_cancellable(self.cancelled.release)
            self.entered.release()

        return Single.create(start)

    def check(self, times: int = 1) -> None:
        """A hook that can be cancelled was, so many times and no more; blocking code may go on now."""
        for _ in range(0 if self.is_plain else times):
            assert self.cancelled.acquire(timeout=5)
        self.goes_on.set()


@pytest.mark.promise("J6", "llm")
@pytest.mark.promise("J12")
@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize(
    ("hook", "owner"),
    [*((hook, "agent") for hook in AGENT_CASES), *((hook, "plugin") for hook in [*AGENT_CASES, *RUN_HOOKS])],
)
def test_left_in_a_hook(hook: str, owner: str, kind: str) -> None:
    """Left in a hook: a coroutine and a Single are cancelled, once; blocking code runs to its end, and its answer is
    dropped; no further hook, tool or model is called, nothing more is stored or shown; the next message works."""
    stuck, noting, plugin = Stuck(kind), Noting(), BasePlugin("stuck")
    if owner == "plugin":
        setattr(plugin, hook, stuck.hook)
        hooked = Hooked(hook, noting, plugin)
    else:
        hooked = Hooked(hook, noting, **{hook: stuck.hook})
    consumer = Consumer().of(hooked.runner.run_async(USER, "s", "Hi"))
    assert stuck.entered.acquire(timeout=5)
    before = (said(log(hooked.runner)), list(noting.asked), len(hooked.model.calls), hooked.tool_calls)
    shown = list(consumer.events)
    consumer.dispose()
    stuck.check()
    assert hooked.ends.next().kind == "disposed"
    assert (said(log(hooked.runner)), noting.asked, len(hooked.model.calls), hooked.tool_calls) == before
    assert (consumer.events, consumer.ends, hooked.ends.after_run) == (shown, [], [])
    assert not stuck.cancelled.acquire(blocking=False)
    assert not stuck.entered.acquire(blocking=False)
    hooked.runner.agent.model = ScriptedModel("Back.")  # type: ignore[attr-defined]
    assert said(hooked.runner.run(USER, "s", "Again")) == ["agent: Back."]
    assert hooked.ends.next().kind == "completed"


def test_all_hooks_are_here() -> None:
    """No hook is forgotten; those of a run's end are not left, as the run has ended."""
    assert {*AGENT_CASES, *RUN_HOOKS, "on_run_error_callback", "on_run_end"} == set(HOOKS)


@pytest.mark.promise("J6", "llm")
@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("hook", ["before_tool_callback", "after_tool_callback"])
def test_left_in_hooks_on_workers(hook: str, kind: str) -> None:
    """The same for the hooks of two tools on workers: both are cancelled, and no tool starts."""
    stuck, ends, called = Stuck(kind), Ends(), list[str]()
    answers: list[Any] = []

    def tool() -> str:
        """Work."""
        called.append("tool")
        return "done"

    def note(tool: BaseTool, args: Any, ctx: Any, result: Any) -> None:
        answers.append(result)

    callbacks: dict[str, Any] = {"after_tool_callback": note, hook: stuck.hook}
    runner = runner_of([[call("tool"), call("tool")]], tools=[tool], plugins=[ends], **callbacks)
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", mode("parallel_subscribe")))
    for _ in range(2):
        assert stuck.entered.acquire(timeout=5)
    consumer.dispose()
    stuck.check(2)
    assert ends.next().kind == "disposed"
    assert called == (["tool", "tool"] if hook == "after_tool_callback" else [])
    assert answers == []
    assert said(log(runner)) == ["user: Hi", "agent: call(tool) call(tool)"]


@pytest.mark.promise("J6", "llm")
@pytest.mark.parametrize("owner", ["agent", "plugin"])
def test_left_as_the_model_comes_to_its_end(owner: str) -> None:
    """A dispose between the last event and the after-agent callbacks, that nothing reports, reaches them: none runs."""
    told: list[str] = []

    class Last(BasePlugin):
        def after_agent_callback(self, ctx: Any) -> None:
            told.append("plugin")

    class Saying(BaseLlm):
        def __init__(self) -> None:
            super().__init__("saying")

        def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
            return Blocking(lambda scope: self._said())

        def _said(self) -> Iterator[LlmResponse]:
            yield LlmResponse(content=Content.model("Hello."))
            consumer.dispose()

    hooks: dict[str, Any] = {"after_agent_callback": lambda ctx: told.append("agent")} if owner == "agent" else {}
    ends = Ends()
    plugins = [Last("last"), ends] if owner == "plugin" else [ends]
    runner = runner_of(Saying(), plugins=plugins, **hooks)
    consumer = Consumer()
    consumer.of(runner.run_async(USER, "s", "Hi"))
    assert ends.next().kind == "disposed"
    assert said(log(runner)) == ["user: Hi", "agent: Hello."]
    assert told == []
