"""Deliveries of one answer from several processes at once: exactly one goes on. J28, J30."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rxagent import SqliteSessionService
from rxagent.errors import AlreadyClaimedError
from rxagent.testing.invariants import log_faults
from rxagent.testing.scripted_model import ScriptedModel, call
from tests.runner.driving import USER, Ends, log, watch

from .delivering import KEY, deliver, started
from .pausing import ASK, Refunds, app_runner, llm, marks, run


@pytest.mark.promise("J28")
@pytest.mark.promise("J30", "processes")
@pytest.mark.parametrize("attempt", range(3))
def test_five_deliveries_from_two_processes(tmp_path: Path, attempt: int) -> None:
    """One is given the run, four an empty stream; the tool runs once, the answer is in the log once."""
    path, done = tmp_path / "s.db", tmp_path / "done"
    started(path, done)
    assert deliver(path, done, [3, 2]) == [0, 0, 0, 0, 3]
    assert len(done.read_text().splitlines()) == 1
    service = SqliteSessionService(path)
    session = service.get_session(*KEY)
    assert session is not None
    assert list(log_faults(session.events)) == []
    assert marks(session.events) == [
        "user: Refund order 7",
        "a: call(refund)",
        "a: call(adk_request_confirmation)",
        "a: response(refund)",
        "user: response(adk_request_confirmation)",
        "a: response(refund)",
        "a: Done.",
        "a end",
    ]
    assert session.pending() == []
    service.close()


@pytest.mark.promise("J30")
def test_an_answer_that_comes_second_between_reading_and_storing() -> None:
    """When another process answers after the session was read, the store refuses: the stream is empty, nothing runs."""
    ends, model = Ends(), ScriptedModel([call("ask", question="?")], ["never"])
    runner = app_runner(llm("a", model, tools=[ASK]), plugins=[ends])
    run(runner, "Go")
    [question] = runner.pending(USER, "s")
    before = log(runner)

    def refuse(*_: object) -> None:
        raise AlreadyClaimedError("somebody was first")

    watch(runner.session_service, "append_events", refuse)
    assert run(runner, question.answer({"n": 1})) == []
    assert (log(runner), len(model.calls)) == (before, 1)
    assert [outcome.kind for outcome in ends.outcomes] == ["paused", "paused"]
    assert len(ends.after_run) == 1  # that of the first run


@pytest.mark.promise("J30")
@pytest.mark.parametrize(
    ("response", "resumable", "claims"),
    [
        ({"confirmed": True}, True, 1),
        ({"confirmed": False}, True, 1),
        ({"n": 1}, True, 1),
        ({"confirmed": True}, False, 1),
        ({"words": "perhaps"}, False, 0),
        ({"n": 1}, False, 0),
    ],
)
def test_what_an_answer_claims(response: dict[str, Any], resumable: bool, claims: int) -> None:
    """The store is told to take each answer of a resumable app once, elsewhere each decision and nothing else."""
    calls = [call("ask", question="?")] if "n" in response else [call("refund", order=1)]
    model = ScriptedModel(calls, ["Done."], repeat_last=True)
    runner = app_runner(llm("a", model, tools=[ASK, Refunds().tool()]), resumable=resumable)
    run(runner, "Go")
    [question] = runner.pending(USER, "s")
    claimed: list[int] = []
    service: Any = runner.session_service
    plain = service.append_events

    def append(session: Any, events: Any, **options: Any) -> Any:
        claimed.append(len(options.get("claims", ())))
        return plain(session, events, **options)

    service.append_events = append
    run(runner, question.answer(response))
    assert claimed[0] == claims
    assert not any(claimed[1:])
