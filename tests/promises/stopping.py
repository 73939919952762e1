"""A runner on a real socket and a real file, and what an aborted run must have left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rxagent.events import Event, FunctionResponse
from rxagent.models import ChatCompletions
from rxagent.runner import Runner
from rxagent.sessions import SqliteSessionService
from rxagent.testing.chat_server import ChatServer, stall
from rxagent.testing.invariants import log_faults, request_faults
from rxagent.testing.scripted_model import ScriptedModel
from tests.runner.driving import USER, Consumer, Ends, log, runner_of, said

__all__ = ["ABORTED", "STORY", "Stage", "aborted", "next_turn", "responses", "stage", "statuses"]

ABORTED = "INVOCATION_ABORTED"
STORY: list[Any] = ["Once ", "upon ", stall()]
"""A model's answer that falls silent."""


class Stage:
    """A runner whose model is a server on a socket, and whose sessions are in a file."""

    def __init__(self, server: ChatServer, runner: Runner, ends: Ends) -> None:
        self.server, self.runner, self.ends = server, runner, ends

    def is_stopped(self, reason: str, *before: str) -> None:
        """The model's server has seen its client go; the run was aborted for this reason; the log says so."""
        assert self.server.wait_requests()[-1].wait_gone() is not None
        outcome = self.ends.next()
        assert (outcome.kind, outcome.reason, self.ends.after_run) == ("aborted", reason, [])
        events = log(self.runner)
        assert list(log_faults(events)) == []
        assert said(events) == [*before, "agent: "]
        aborted(events, reason)


@contextmanager
def stage(
    folder: Path, *turns: Any, tools: Iterable[Any] = (), plugins: Iterable[Any] = (), **agent: Any
) -> Iterator[Stage]:
    """A stage whose model says these turns."""
    ends, service = Ends(), SqliteSessionService(folder / "log.db")
    with ChatServer(list(turns) or [STORY]) as server:
        model = ChatCompletions("any", base_url=server.base_url)
        runner = runner_of(model, tools=tools, service=service, plugins=[ends, *plugins], **agent)
        yield Stage(server, runner, ends)
        runner.close()
        model.close()
    service.close()


def aborted(events: Sequence[Event], reason: str) -> Event:
    """The last event, which must tell of the abort and why."""
    last = events[-1]
    assert last.error_code == ABORTED
    assert reason in (last.error_message or "")
    return last


def responses(events: Iterable[Event]) -> list[FunctionResponse]:
    """All responses, in log order."""
    return [response for event in events for response in event.function_responses]


def statuses(events: Iterable[Event]) -> dict[str | None, Any]:
    """By tool: the status of a seal, or the real result."""
    found = {}
    for response in responses(events):
        result = response.response or {}
        found[response.name] = result["status"] if "reason" in result else result
    return found


def next_turn(runner: Runner, model: ScriptedModel | None = None) -> list[Event]:
    """A plain message on the session works: well-formed requests, nothing sealed any more. Returns its events."""
    before = log(runner)
    spare = model or ScriptedModel(["Back."])
    agent: Any = runner.agent
    agent.model = spare
    consumer = Consumer().of(runner.run_async(USER, "s", "Go on")).wait()
    assert consumer.ends == ["completed"], consumer.error
    after = log(runner)
    assert list(log_faults(after)) == []
    assert said(after[len(before) :]) == ["user: Go on", f"{runner.agent.name}: Back."]
    assert [list(request_faults(request.contents)) for request in spare.requests] == [[]]
    return after[len(before) :]
