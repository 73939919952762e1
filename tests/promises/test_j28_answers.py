"""Which invocation an answer or an id goes on with, what is refused, and what is dropped. J28 to J31, J33, J36."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rxagent import App, ResumabilityConfig, RunConfig, Runner, SequentialAgent
from rxagent.errors import (
    ConfigError,
    NotResumableError,
    SessionNotFoundError,
    SpanningAnswersError,
    UnknownCallError,
    UnknownInvocationError,
    UsageError,
)
from rxagent.events import Content, Event, Part
from rxagent.sessions import InMemorySessionService, SqliteSessionService
from rxagent.testing.scripted_model import ScriptedModel, call, pause
from tests.runner.driving import USER, Consumer, Ends, log, put, watch

from .pausing import ASK, Refunds, answer, app_runner, llm, marks, run, stored

ASKS = [call("ask", question="?")]


def asked(runner: Runner) -> str:
    return runner.pending(USER, "s")[-1].call_id


def refused(runner: Runner, message: Any, kind: type[Exception], **options: Any) -> str:
    """The words of the refusal; the session is as it was, and no hook was asked."""
    before = log(runner)
    with pytest.raises(kind) as caught:
        run(runner, message, **options)
    assert log(runner) == before
    return str(caught.value)


@pytest.mark.promise("J28")
def test_another_service_on_the_file(tmp_path: Path) -> None:
    """The answer alone finds its invocation, from the SQLite file, with nothing else kept."""
    first = SqliteSessionService(tmp_path / "s.db")
    run(app_runner(llm("a", ASKS, tools=[ASK]), first), "Go")
    first.close()
    second = SqliteSessionService(tmp_path / "s.db")
    runner = app_runner(llm("a", ["Done."], tools=[ASK]), second)
    assert marks(run(runner, answer(asked(runner), {"ok": True}))) == ["a: Done.", "a end"]
    assert len({event.invocation_id for event in log(runner)}) == 1
    second.close()


@pytest.mark.promise("J28")
def test_any_invocation_can_be_answered() -> None:
    """Not only the latest: an older paused invocation goes on under its own id."""
    runner = app_runner(llm("a", ASKS, ASKS, ["First."], ["Second."], tools=[ASK]))
    run(runner, "One")
    run(runner, "Two")
    older, newer = runner.pending(USER, "s")
    assert {event.invocation_id for event in run(runner, older.answer({}))} == {older.invocation_id}
    assert {event.invocation_id for event in run(runner, newer.answer({}))} == {newer.invocation_id}


@pytest.mark.promise("J29")
def test_not_resumable() -> None:
    """invocation_id= raises at the call where the app is not resumable, whatever door; an answer starts a new one."""
    runner = app_runner(llm("a", ASKS, ["Done."], tools=[ASK]), resumable=False)
    run(runner, "Go")
    for door in (runner.run_async, runner.run, runner.start, runner.stream):
        with pytest.raises(NotResumableError, match="resumable"):
            door(USER, "s", None, invocation_id="e-1")
    older = Runner(
        app=App(
            "app",
            llm("a"),
            resumability_config=ResumabilityConfig(plain_text_continuation_auto_resume=True),
        )
    )
    with pytest.raises(NotResumableError):
        older.run_async(USER, "s", invocation_id="e-1")
    [event] = run(runner, answer(asked(runner), {}))
    assert event.invocation_id != log(runner)[0].invocation_id


@pytest.mark.promise("J30", "finished")
def test_a_finished_invocation() -> None:
    """Resuming it, by answer or by id, with text or state, is an empty stream: no model, no hook, nothing appended."""
    ends = Ends()
    model = ScriptedModel(ASKS, ["Done."])
    runner = app_runner(llm("a", model, tools=[ASK]), plugins=[ends])
    run(runner, "Go")
    message = answer(asked(runner), {"ok": True})
    run(runner, message)
    before, id = log(runner), log(runner)[0].invocation_id
    appends = watch(runner.session_service, "append_events")
    asked_hooks: list[str] = []
    ends.before_run_callback = lambda ctx: asked_hooks.append("before_run")  # type: ignore[method-assign]
    for options in ({"message": message}, {"invocation_id": id}, {"message": "Hi", "invocation_id": id}):
        assert run(runner, options.pop("message", None), state_delta={"n": 1}, **options) == []
    assert log(runner) == before
    assert (appends, asked_hooks, len(model.calls), len(ends.after_run)) == ([], [], 2, 2)
    assert [outcome.kind for outcome in ends.outcomes] == ["paused", *["completed"] * 4]


@pytest.mark.promise("J30", "finished")
@pytest.mark.parametrize("resumable", [True, False])
def test_a_repeated_answer_to_an_open_invocation(resumable: bool) -> None:
    """While another call is open: the repeated answer is dropped, also beside a new one. A question is decided once in
    every app."""
    refunds = Refunds()
    turns = [[call("refund", order=1), call("refund", order=2)], *[["Said."]] * 3]
    runner = app_runner(llm("a", *turns, tools=[refunds.tool()]), resumable=resumable)
    run(runner, "Go")
    first, second = runner.pending(USER, "s")
    run(runner, first.approve())
    before = log(runner)
    assert run(runner, first.approve()) == []
    assert run(runner, first.reject()) == []
    assert log(runner) == before
    both = Content(role="user", parts=(*(first.reject().parts or ()), *(second.approve().parts or ())))
    run(runner, both)
    assert [order for _, order in refunds.done] == [1, 2]
    assert runner.pending(USER, "s") == []
    [stored_answer] = [event for event in log(runner)[len(before) :] if event.author == "user"]
    assert len(stored_answer.function_responses) == 1


@pytest.mark.promise("J30", "threads")
def test_five_deliveries_from_threads() -> None:
    """Five at the same instant: one goes on, four are empty; the tool runs once, the answer is stored once."""
    service = InMemorySessionService()
    refunds = Refunds()
    run(app_runner(llm("a", [call("refund", order=7)], tools=[refunds.tool()]), service), "Go")
    runners = [app_runner(llm("a", ["Done."], tools=[refunds.tool()]), service) for _ in range(5)]
    [question] = runners[0].pending(USER, "s")
    consumers = [Consumer().of(one.run_async(USER, "s", question.approve())) for one in runners]
    seen = sorted(len(consumer.wait().events) for consumer in consumers)
    assert seen == [0, 0, 0, 0, 3]
    assert len(refunds.done) == 1
    assert stored(runners[0]).count("user: response(adk_request_confirmation)") == 1


@pytest.mark.promise("J31")
def test_answers_that_fit_no_call() -> None:
    """Without id, with an unknown id, with another tool's name, over two invocations: typed errors, nothing stored."""
    ends = Ends()
    runner = app_runner(llm("a", ASKS, ASKS, tools=[ASK]), plugins=[ends])
    run(runner, "One")
    run(runner, "Two")
    older, newer = runner.pending(USER, "s")
    assert "id is required" in refused(runner, answer("", {}), UnknownCallError)
    assert "nope" in refused(runner, answer("nope", {}), UnknownCallError)
    assert "'other'" in refused(runner, answer(older.call_id, {}, name="other"), UnknownCallError)
    both = Content(role="user", parts=(*(older.answer({}).parts or ()), *(newer.answer({}).parts or ())))
    assert "span 2 invocations" in refused(runner, both, SpanningAnswersError)
    refused(runner, older.answer({}), SpanningAnswersError, invocation_id=newer.invocation_id)
    refused(runner, answer("nope", {}), UnknownCallError, invocation_id=newer.invocation_id)
    assert len(ends.after_run) == 2


@pytest.mark.promise("J31")
def test_answers_in_an_app_that_is_not_resumable() -> None:
    """There only a response without id or with an unknown id is refused."""
    runner = app_runner(llm("a", ASKS, ["One."], tools=[ASK]), resumable=False)
    run(runner, "Go")
    refused(runner, answer("", {}), UnknownCallError)
    refused(runner, answer("nope", {}), UnknownCallError)
    assert marks(run(runner, answer(asked(runner), {}, name="other"))) == ["a: One."]


@pytest.mark.promise("J31")
def test_an_answer_that_decides_nothing() -> None:
    """A confirmation that does not say whether is refused, and the question stays."""
    runner = app_runner(llm("a", [call("refund", order=1)], tools=[Refunds().tool()]))
    run(runner, "Go")
    [question] = runner.pending(USER, "s")
    assert "confirmed" in refused(runner, question.answer({"ok": True}), UsageError)
    assert runner.pending(USER, "s")[0].call_id == question.call_id


@pytest.mark.promise("J34")
def test_nothing_to_resume() -> None:
    """An unknown id without message, and neither of the two, are errors; a text with an unknown id runs under it."""
    runner = app_runner(llm("a", ["Hello."], ["Under it."]))
    run(runner, "Go")
    assert "e-1" in refused(runner, None, UnknownInvocationError, invocation_id="e-1")
    assert "e-1" in refused(runner, Content(role="user"), UnknownInvocationError, invocation_id="e-1")
    refused(runner, None, UsageError)
    assert [event.invocation_id for event in run(runner, "Go", invocation_id="e-1")] == ["e-1", "e-1"]


@pytest.mark.promise("J34")
def test_an_invocation_without_a_message() -> None:
    """One that no user has begun, as far as the log knows, is resumed with a message, and not without."""
    runner = app_runner(llm("a", ["never"]))
    put(runner, Event(invocation_id="e-1", author="a", content=Content.model("Said.")))
    assert "No user message" in refused(runner, None, UnknownInvocationError, invocation_id="e-1")
    assert marks(run(runner, "Go", invocation_id="e-1")) == ["a end"]
    assert stored(runner) == ["a: Said.", "user: Go", "a end"]


@pytest.mark.promise("J31")
@pytest.mark.parametrize("resumable", [True, False])
def test_a_session_that_does_not_exist(resumable: bool) -> None:
    """An answer, or a resume, does not create it: there is nothing to go on with."""
    runner = app_runner(llm("a", ["Hello."]), resumable=resumable)
    with pytest.raises(SessionNotFoundError):
        run(runner, answer("c1", {}))
    if resumable:
        with pytest.raises(SessionNotFoundError):
            run(runner, None, invocation_id="e-1")
    assert runner.session_service.get_session("app", USER, "s") is None


def test_a_text_with_an_unknown_id() -> None:
    """It runs under the given id, as ADK does."""
    runner = app_runner(llm("a", ["Hello."]))
    assert {event.invocation_id for event in run(runner, "Go", invocation_id="e-1")} == {"e-1"}


def test_an_answer_with_text() -> None:
    """The answer resumes; the text stays in the stored message."""
    runner = app_runner(llm("a", ASKS, ["Done."], tools=[ASK]))
    run(runner, "Go")
    message = answer(asked(runner), {})
    message = Content(role="user", parts=(*(message.parts or ()), Part(text="by hand")))
    assert marks(run(runner, message)) == ["a: Done.", "a end"]
    assert "user: response(ask) by hand" in stored(runner)


@pytest.mark.promise("J33")
def test_the_older_flow_excludes_the_newer() -> None:
    """plain_text_continuation_auto_resume and resumable together are an error at construction."""
    with pytest.raises(ConfigError, match="mutually exclusive"):
        ResumabilityConfig(resumable=True, plain_text_continuation_auto_resume=True)


@pytest.mark.promise("J33")
def test_the_older_flow() -> None:
    """It writes no checkpoints, pauses also at a value, and an answer begins a new invocation at the asking member."""
    flow = SequentialAgent(
        name="flow", sub_agents=[llm("a", ["A."]), llm("b", ASKS, ["B."], tools=[ASK]), llm("c", ["C."])]
    )
    config = ResumabilityConfig(plain_text_continuation_auto_resume=True)
    runner = Runner(app=App("app", flow, resumability_config=config))
    assert marks(run(runner, "Go")) == ["a: A.", "b: call(ask)"]
    assert marks(run(runner, answer(asked(runner), {}))) == ["b: B.", "c: C."]
    assert len({event.invocation_id for event in log(runner)}) == 2


@pytest.mark.promise("J36")
def test_interrupted() -> None:
    """The field exists, a model may set it, and neither dispose nor abort does."""
    assert Event(interrupted=True).interrupted is True
    runner = app_runner(llm("a", ["Half ", pause(60)], ["Half ", pause(60)]))
    for stop in ("dispose", "abort"):
        handle = runner.start(USER, "s", "Go", RunConfig(streaming_mode="sse"))
        for _ in handle:
            getattr(handle, stop)()
        handle.wait(10)
    assert [event.interrupted for event in log(runner)] == [None] * len(log(runner))
