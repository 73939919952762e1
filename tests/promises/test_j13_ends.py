"""How a run ends: after-run, the outcome, who is told what in which order, and one record in the log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
from reactivex import operators as ops

from rxagent.events import Content, Event
from rxagent.invocation import InvocationContext, Outcome, RunConfig
from rxagent.plugins import BasePlugin
from rxagent.runner import Runner
from rxagent.streams import Single
from rxagent.streams.dropped import set_on_dropped_error
from rxagent.testing.scripted_model import ScriptedModel, call, gate, usage
from rxagent.tools import LongRunningFunctionTool
from tests.runner.driving import SSE, USER, Consumer, Ends, Gate, log, put, runner_of, said


class Steps(BasePlugin):
    """Notes hooks in one list with whatever else notes there."""

    def __init__(self, steps: list[str]) -> None:
        super().__init__("steps")
        self.steps = steps

    def after_run_callback(self, ctx: InvocationContext) -> None:
        self.steps.append("after_run")

    def on_run_error_callback(self, ctx: InvocationContext, error: BaseException) -> None:
        self.steps.append(f"on_run_error {error}")

    def on_run_end(self, ctx: InvocationContext, outcome: Outcome) -> None:
        self.steps.append(f"on_run_end {outcome.kind}")


def pause() -> None:
    """Ask somebody, some time."""


SCRIPTS: dict[str, list[Any]] = {
    "completed": ["Done."],
    "failed": [ValueError("broken")],
    "paused": [call("pause"), "Asked."],
    "disposed": ["a", gate(threading.Event())],
}


def turns(kind: str) -> list[Any]:
    return [SCRIPTS[kind]] if kind == "disposed" else SCRIPTS[kind]


def run_of(kind: str, steps: list[str], *plugins: BasePlugin) -> tuple[Runner, Consumer]:
    """A run that ends so, with its steps."""
    runner = runner_of(turns(kind), tools=[LongRunningFunctionTool(pause)], plugins=[Steps(steps), *plugins])
    consumer = Consumer(lambda event: steps.append(f"on_next {'partial' if event.partial else 'event'}"))
    stream = runner.run_async(USER, "s", "Hi", SSE).pipe(ops.finally_action(lambda: steps.append("finally")))
    return runner, consumer.of(
        stream.pipe(
            ops.do_action(
                on_error=lambda error: steps.append(f"on_error {error}"),
                on_completed=lambda: steps.append("on_completed"),
            )
        )
    )


@pytest.mark.promise("J13", "after_run")
@pytest.mark.promise("J14", "completed")
def test_completed() -> None:
    """Completed: after-run, on_run_end, on_completed, finally; each once, in this order, behind the last event."""
    steps: list[str] = []
    _, consumer = run_of("completed", steps)
    consumer.wait()
    assert steps[-5:] == ["on_next event", "after_run", "on_run_end completed", "on_completed", "finally"]
    assert len([step for step in steps if "on_next" not in step]) == 4


@pytest.mark.promise("J13", "after_run")
@pytest.mark.promise("J14", "failed")
def test_failed() -> None:
    """Failed: no after-run; on_run_error, on_run_end, on_error, finally; each once, in this order."""
    steps: list[str] = []
    _, consumer = run_of("failed", steps)
    consumer.wait()
    assert steps == ["on_run_error broken", "on_run_end failed", "on_error broken", "finally"]


@pytest.mark.promise("J14", "paused")
def test_paused() -> None:
    """Paused: the stream completes, after-run runs, and the outcome says that an answer is owed."""
    steps: list[str] = []
    _, consumer = run_of("paused", steps)
    consumer.wait()
    assert steps[-4:] == ["after_run", "on_run_end paused", "on_completed", "finally"]
    assert consumer.events[0].long_running_tool_ids


@pytest.mark.promise("J13", "after_run")
@pytest.mark.promise("J14", "disposed")
def test_disposed() -> None:
    """Disposed: no after-run and no end for the consumer; on_run_end and the caller's finally, each once."""
    steps: list[str] = []
    ends = Ends()
    _, consumer = run_of("disposed", steps, ends)
    consumer.next()
    consumer.dispose()
    consumer.dispose()
    assert ends.next().kind == "disposed"
    assert sorted(steps) == ["finally", "on_next partial", "on_run_end disposed"]


@pytest.mark.promise("J13", "after_run")
def test_after_run_that_raises() -> None:
    """An error in after-run is the run's error: on_error gets it, and the outcome is failed."""

    class Breaks(BasePlugin):
        def after_run_callback(self, ctx: InvocationContext) -> None:
            raise ValueError("no books today")

    ends = Ends()
    consumer = Consumer().of(runner_of(plugins=[Breaks("breaks"), ends]).run_async(USER, "s", "Hi")).wait()
    assert (str(consumer.error), consumer.ends, said(consumer.events)) == (
        "no books today",
        ["error"],
        ["agent: Hello."],
    )
    assert (ends.next().kind, ends.after_run) == ("failed", [])


@pytest.mark.promise("J14", "completed")
@pytest.mark.parametrize("error", [ValueError("no books"), SystemExit("no books"), KeyboardInterrupt("no books")])
def test_on_run_end_that_raises(error: BaseException) -> None:
    """An error in on_run_end is logged, of whatever kind: the end is told all the same, and the session is free."""
    found: list[BaseException] = []
    set_on_dropped_error(lambda error, _: found.append(error))

    class Breaks(BasePlugin):
        def on_run_end(self, ctx: InvocationContext, outcome: Outcome) -> None:
            raise error

    try:
        ends = Ends()
        runner = runner_of(ScriptedModel("Hello.", repeat_last=True), plugins=[Breaks("breaks"), ends])
        for _ in range(2):
            assert Consumer().of(runner.run_async(USER, "s", "Hi")).wait().ends == ["completed"]
            assert ends.next().kind == "completed"
    finally:
        set_on_dropped_error(None)
    assert found == [error, error]


@pytest.mark.promise("J14", "disposed")
def test_on_run_end_comes_after_the_last_work() -> None:
    """on_run_end waits for the work that a dispose cannot interrupt, and knows the usage and the reason."""
    work, ends = Gate(), Ends()

    def tool() -> None:
        """Work."""
        work()

    runner = runner_of([[usage(7, 3), call("tool")]], tools=[tool], plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert work.entered.wait(5)
    consumer.dispose()
    assert ends.outcomes == []
    work.opened.set()
    outcome = ends.next()
    assert work.left.is_set()
    assert (outcome.kind, outcome.usage.total_tokens, outcome.usage.llm_calls, outcome.events_saved) == (
        "disposed",
        10,
        1,
        1,
    )


async def hook(answer: Any) -> Any:
    return answer


@pytest.mark.parametrize("how", [hook, Single.just, lambda answer: answer], ids=["coroutine", "single", "plain"])
def test_hooks_of_every_kind(how: Callable[[Any], Any]) -> None:
    """A plugin's hook is a function, a coroutine function, or returns a Single: all do the same."""
    told: list[str] = []

    class Hooks(BasePlugin):
        def on_user_message_callback(self, ctx: InvocationContext, message: Content) -> Any:
            return how(Content.user(f"{message.text}!"))

        def before_run_callback(self, ctx: InvocationContext) -> Any:
            return how(None)

        def on_event_callback(self, ctx: InvocationContext, event: Event) -> Any:
            return how(event.model_copy(update={"content": Content.model(f"<{event.text}>")}))

        def after_run_callback(self, ctx: InvocationContext) -> Any:
            told.append("after_run")
            return how(None)

        def on_run_end(self, ctx: InvocationContext, outcome: Outcome) -> Any:
            told.append(outcome.kind)
            return how(None)

    runner = runner_of(plugins=[Hooks("hooks")])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert said(consumer.events) == ["agent: <Hello.>"]
    assert said(log(runner)) == ["user: Hi!", "agent: Hello."]
    assert told == ["after_run", "completed"]


def test_before_run_answers() -> None:
    """A before-run hook that answers: its event is stored and shown, no agent runs, and the run completes normally."""

    class Answers(BasePlugin):
        def before_run_callback(self, ctx: InvocationContext) -> Content:
            return Content.model("Closed today.")

    model, ends = ScriptedModel("never"), Ends()
    runner = runner_of(model, plugins=[Answers("answers"), ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    assert said(consumer.events) == ["model: Closed today."]
    assert said(log(runner)) == ["user: Hi", "model: Closed today."]
    assert (model.calls, ends.next().kind, len(ends.after_run)) == ([], "completed", 1)


@pytest.mark.promise("A12")
@pytest.mark.parametrize("kind", ["completed", "failed", "paused", "disposed"])
def test_one_record_per_run(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """Each run leaves one log record: session, invocation, outcome, reason, calls sealed, tokens used."""
    caplog.set_level(logging.INFO, "rxagent.run")
    ends = Ends()
    script = [[usage(7, 3), *(turn if isinstance(turn, list) else [turn])] for turn in turns(kind)]
    runner = runner_of(script, tools=[LongRunningFunctionTool(pause)], plugins=[ends])
    put(runner, _open_call())
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE))
    if kind == "disposed":
        consumer.next()
        consumer.dispose()
        ends.next()
        runner.close()
    else:
        consumer.wait()
    records = [record for record in caplog.records if record.name == "rxagent.run"]
    assert len(records) == 1
    fields = vars(records[0])
    assert (fields["session_id"], fields["outcome"], fields["calls_sealed"]) == ("s", kind, 1)
    assert fields["invocation_id"] == log(runner)[-1].invocation_id
    assert fields["reason"] == ("ValueError" if kind == "failed" else None)
    assert fields["total_tokens"] == {"completed": 10, "paused": 10, "failed": 0, "disposed": 0}[kind]


def _open_call() -> Event:
    part = call.with_id("adk-old", "pause")
    return Event(invocation_id="e-old", author="agent", content=Content(role="model", parts=(part,)))


def test_outcome_of_ended_from_inside() -> None:
    """A run that a tool ends by `end_invocation` completes, with that as its reason."""

    def stop(tool_context: Any) -> None:
        """Stop."""
        tool_context.end_invocation = True

    ends = Ends()
    runner = runner_of([call("stop"), "never"], tools=[stop], plugins=[ends])
    Consumer().of(runner.run_async(USER, "s", "Hi", RunConfig())).wait()
    outcome = ends.next()
    assert (outcome.kind, outcome.reason, len(ends.after_run)) == ("completed", "end_invocation", 1)
