"""What a run learns of an unfinished one before it."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.events import Event
from rxagent.events.pairing import open_calls
from rxagent.flow.last_outcome import LAST_OUTCOME, last_outcome
from rxagent.history.sealing import seal_events
from rxagent.invocation import AbortSignal, CallbackContext, RunConfig
from rxagent.testing.scripted_model import ScriptedModel, call, pause
from rxagent.tools import LongRunningFunctionTool
from tests.history.logs import call as called
from tests.history.logs import calls, responds, response, user
from tests.history.logs import said as says
from tests.runner.driving import SSE, USER, Consumer, Gate, runner_of, said

INSTRUCTION = "Help. The last run: {temp:last_outcome?}"


def told(model: ScriptedModel) -> str:
    """What the newest request's instruction says of it."""
    return model.requests[-1].system_instruction.partition("The last run: ")[2].partition("\n")[0]


@pytest.mark.promise("A13", "plain_message")
@pytest.mark.parametrize("reason", ["user_stop", "worker_shutdown", "its own words: really"])
def test_after_an_abort(reason: str) -> None:
    """The run after an aborted one finds kind and reason in its state, for an instruction to say; later runs do not."""
    model = ScriptedModel(["Once ", pause(60)], ["Back."], ["Again."])
    runner, signal = runner_of(model, instruction=INSTRUCTION), AbortSignal()
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE, abort_signal=signal))
    consumer.next()
    assert told(model) == ""
    signal.set(reason)
    consumer.wait()
    assert said(runner.run(USER, "s", "Go on")) == ["agent: Back."]
    assert told(model) == f"{{kind=aborted, reason={reason}}}"
    list(runner.run(USER, "s", "More"))
    assert told(model) == ""
    session: Any = runner.session_service.get_session("app", USER, "s")
    assert LAST_OUTCOME not in session.state


def test_after_a_dispose_in_a_tool() -> None:
    """After a run that was left, whose open call is sealed first, it says "unfinished": the log tells no more."""
    gate = Gate()

    def tool() -> str:
        """Work."""
        gate()
        return "done"

    found: list[Any] = []
    model = ScriptedModel([call("tool")], ["Back."])
    runner = runner_of(model, tools=[tool], before_agent_callback=lambda ctx: found.append(seen(ctx)))
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", RunConfig(cancel_grace_period=0)))
    assert gate.entered.wait(5)
    consumer.dispose()
    gate.opened.set()
    Consumer().of(runner.run_async(USER, "s", "Go on")).wait()
    assert found == [None, {"kind": "unfinished", "reason": None}]


def seen(ctx: CallbackContext) -> Any:
    return ctx.state.get(LAST_OUTCOME)


def test_after_a_pause() -> None:
    """After a designed pause that nobody has answered it says "paused"."""
    model = ScriptedModel([call("ask")], ["Back."])
    asks = LongRunningFunctionTool(lambda: None, name="ask")
    runner = runner_of(model, tools=[asks], instruction=INSTRUCTION)
    Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    Consumer().of(runner.run_async(USER, "s", "Go on")).wait()
    assert told(model) == "{kind=paused, reason=null}"


def test_after_a_failure() -> None:
    """After a failed run it says "unfinished"; after one that came to its end nothing."""
    model = ScriptedModel(ValueError("down"), ["Back."], ["Again."])
    runner = runner_of(model, instruction=INSTRUCTION)
    assert Consumer().of(runner.run_async(USER, "s", "Hi")).wait().ends == ["error"]
    list(runner.run(USER, "s", "Go on"))
    assert told(model) == "{kind=unfinished, reason=null}"


LOGS: list[tuple[list[Event], str | None]] = [
    ([], None),
    ([user("Hi")], "unfinished"),
    ([user("Hi"), says("a", "Hello.")], None),
    ([user("Hi"), calls("a", called("c1", "t"))], "unfinished"),
    ([user("Hi"), calls("a", called("c1", "t")), responds("a", response("c1", "t", r=1))], "unfinished"),
    ([user("Hi"), says("a", "Hello."), Event(author="a")], None),
    ([user("Hi"), says("a", "Hello."), user("More")], "unfinished"),
]


@pytest.mark.parametrize(("events", "kind"), LOGS)
def test_what_a_log_tells(events: list[Event], kind: str | None) -> None:
    """By the last event that says something; seals that a later run wrote, and state alone, say nothing."""
    sealed = [*events, *seal_events(open_calls(events), "left")]
    for found in (last_outcome(events, ()), last_outcome(sealed, ())):
        assert (found and found["kind"]) == kind


def test_nobody_waits_for_it() -> None:
    """It reads the newest events only, however long the log is."""
    events = [user("Hi"), says("a", "Hello.")] * 10_000
    read = 0

    class Counting(list[Event]):
        def __reversed__(self) -> Any:
            nonlocal read
            for event in super().__reversed__():
                read += 1
                yield event

    assert last_outcome(Counting(events), ()) is None
    assert read == 1
