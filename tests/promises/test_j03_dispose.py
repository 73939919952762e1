"""Leaving a run: disposing the subscription, at any time, from anywhere, without waiting."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator

import pytest
from reactivex import operators as ops

from rxagent.events import Event
from rxagent.runner import Runner
from rxagent.streams.dropped import set_on_dropped_error
from rxagent.testing.scripted_model import ScriptedModel, call, gate
from rxagent.tools import CallContext
from tests.runner.driving import SSE, USER, Consumer, Ends, Gate, log, runner_of, said


def test_there_is_no_cancel_on_the_runner() -> None:
    """The runner has no cancel method; `close` is for all its runs."""
    assert not [name for name in dir(Runner) if "cancel" in name or "abort" in name or "dispose" in name]


@pytest.mark.promise("J3")
def test_dispose_from_another_thread() -> None:
    """A dispose from another thread ends the run, in the middle of an answer."""
    silent, ends = threading.Event(), Ends()
    runner = runner_of([["a", "b", gate(silent), "c"]], plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE))
    assert [consumer.next().text, consumer.next().text] == ["a", "b"]
    other = threading.Thread(target=consumer.dispose)
    other.start()
    other.join()
    assert ends.next().kind == "disposed"
    assert (said(log(runner)), consumer.ends, len(consumer.events)) == (["user: Hi"], [], 2)


@pytest.mark.promise("J3")
def test_dispose_inside_on_next() -> None:
    """A dispose from inside `on_next` ends the run: the event that was just shown is the last one."""
    ends = Ends()
    runner = runner_of([["a", "b", "c"]], plugins=[ends])
    handles: list[Consumer] = []
    linked = threading.Event()

    def leave(_: Event) -> None:
        assert linked.wait(5)
        handles[0].dispose()

    handles.append(Consumer(leave).of(runner.run_async(USER, "s", "Hi", SSE)))
    linked.set()
    assert ends.next().kind == "disposed"
    assert (said(handles[0].events), said(log(runner))) == (["agent~ a"], ["user: Hi"])


@pytest.mark.promise("J3")
def test_dispose_before_the_first_event() -> None:
    """A dispose before anything was emitted ends the run; nothing comes after it."""
    silent, ends, model = threading.Event(), Ends(), ScriptedModel([lambda _: silent.set(), gate(threading.Event())])
    runner = runner_of(model, plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert silent.wait(5)
    consumer.dispose()
    assert ends.next().kind == "disposed"
    assert (consumer.events, consumer.ends, model.calls[0].state) == ([], [], "stopped")


@pytest.mark.promise("J3")
def test_dispose_after_the_end_and_twice() -> None:
    """A dispose after the end does nothing, and a second dispose does nothing."""
    ends = Ends()
    runner = runner_of(["Hello.", ["a", gate(threading.Event())]], plugins=[ends])
    done = Consumer().of(runner.run_async(USER, "s", "Hi")).wait()
    done.dispose()
    done.dispose()
    left = Consumer().of(runner.run_async(USER, "s", "Hi", SSE))
    left.next()
    left.dispose()
    left.dispose()
    assert [ends.next().kind, ends.next().kind] == ["completed", "disposed"]
    left.dispose()
    assert (done.ends, left.ends, len(ends.outcomes)) == (["completed"], [], 2)


@pytest.mark.promise("J3")
def test_dispose_does_not_wait_for_the_work() -> None:
    """`dispose()` returns while the tool that it cannot interrupt is still at work."""
    work, ends = Gate(), Ends()
    runner = runner_of([call("tool"), "never"], tools=[as_tool(work)], plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert work.entered.wait(5)
    begun = time.perf_counter()
    consumer.dispose()
    assert time.perf_counter() - begun < 0.5
    assert not work.left.is_set()
    assert not ends.outcomes
    work.opened.set()
    assert ends.next().kind == "disposed"


def as_tool(work: Gate) -> object:
    def tool() -> str:
        """Work."""
        work()
        return "done"

    return tool


@pytest.mark.promise("J3")
def test_dispose_takes_less_than_5_ms() -> None:
    """`dispose()` returns within 5 ms, in the middle of a model's answer (the median of 30)."""
    took, ends = [], Ends()
    runner = runner_of(ScriptedModel(["a", gate(threading.Event())], repeat_last=True), plugins=[ends])
    for number in range(30):
        consumer = Consumer().of(runner.run_async(USER, f"s{number}", "Hi", SSE))
        consumer.next()
        begun = time.perf_counter()
        consumer.dispose()
        took.append(time.perf_counter() - begun)
        assert ends.next().kind == "disposed"
    assert statistics.median(took) < 0.005


@pytest.fixture
def dropped() -> Iterator[list[str]]:
    """What went to `on_dropped_error`, as `repr(error) in where`."""
    found: list[str] = []
    set_on_dropped_error(lambda error, where: found.append(f"{error!r} in {where}"))
    yield found
    set_on_dropped_error(None)


@pytest.mark.promise("J3")
def test_an_action_that_raises(dropped: list[str]) -> None:
    """A cancel action that raises goes to `on_dropped_error`; the others run, and `dispose()` does not raise."""
    work, ends, ran = Gate(), Ends(), list[str]()

    def tool(tool_context: CallContext) -> str:
        """Work."""
        tool_context.on_abort(lambda: ran.append("first"))
        tool_context.on_abort(lambda: 1 // 0)
        tool_context.on_abort(lambda: ran.append("last"))
        work()
        return "done"

    runner = runner_of([call("tool")], tools=[tool], plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert work.entered.wait(5)
    consumer.dispose()
    work.opened.set()
    assert ends.next().kind == "disposed"
    assert ran == ["last", "first"]
    assert len(dropped) == 1
    assert dropped[0].startswith("ZeroDivisionError")


@pytest.mark.promise("J4", "take")
@pytest.mark.parametrize("count", [1, 2])
def test_take(count: int) -> None:
    """`take(n)` leaves the run inside its n-th `on_next`; of a run that has gone on nothing is stored."""
    ends, model = Ends(), ScriptedModel(["a", "b", "c"], "never")
    runner = runner_of(model, plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi", SSE).pipe(ops.take(count))).wait()
    assert ends.next().kind == "disposed"
    assert (said(consumer.events), said(log(runner))) == (["agent~ a", "agent~ b"][:count], ["user: Hi"])
    assert (consumer.ends, model.calls[0].state, ends.after_run) == (["completed"], "stopped", [])
