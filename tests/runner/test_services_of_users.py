"""Session services that users bring: ADK's five methods, plain or as coroutines."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rxagent.events import Event
from rxagent.sessions import BaseSessionService, Session
from rxagent.testing.scripted_model import ScriptedModel, call

from .driving import APP, USER, Consumer, Ends, Gate, runner_of, said

WHOLE = ["user: Hi", "agent: call(work)", "agent: response(work)", "agent: Done."]


def work() -> str:
    """Work."""
    return "done"


class FiveMethods(BaseSessionService):
    """ADK's five methods, and nothing else."""

    def __init__(self) -> None:
        self.sessions: dict[tuple[str, str, str], Session] = {}

    def create_session(self, app_name: str, user_id: str, state: Any = None, session_id: str | None = None) -> Any:
        session = self.sessions[app_name, user_id, session_id or "new"] = Session(
            app_name, user_id, session_id or "new"
        )
        return session

    def get_session(self, app_name: str, user_id: str, session_id: str, config: Any = None) -> Any:
        return self.sessions.get((app_name, user_id, session_id))

    def list_sessions(self, app_name: str, user_id: str | None = None) -> Any:
        return list(self.sessions.values())

    def delete_session(self, app_name: str, user_id: str, session_id: str) -> None:
        self.sessions.pop((app_name, user_id, session_id), None)

    def append_event(self, session: Session, event: Event) -> Any:  # type: ignore[override]
        return super().append_event(session, event)


class FiveCoroutines(BaseSessionService):
    """The same as coroutines, as in ADK Python, each of which takes its time."""

    def __init__(self) -> None:
        self.inner = FiveMethods()
        self.loops: set[object] = set()

    async def create_session(
        self, app_name: str, user_id: str, state: Any = None, session_id: str | None = None
    ) -> Any:
        await self._pause()
        return self.inner.create_session(app_name, user_id, state, session_id)

    async def get_session(self, app_name: str, user_id: str, session_id: str, config: Any = None) -> Any:
        await self._pause()
        return self.inner.get_session(app_name, user_id, session_id)

    async def list_sessions(self, app_name: str, user_id: str | None = None) -> Any:
        await self._pause()
        return self.inner.list_sessions(app_name)

    async def delete_session(self, app_name: str, user_id: str, session_id: str) -> None:
        await self._pause()
        self.inner.delete_session(app_name, user_id, session_id)

    async def append_event(self, session: Session, event: Event) -> Any:  # type: ignore[override]
        await self._pause()
        return self.inner.append_event(session, event)

    async def _pause(self) -> None:
        self.loops.add(asyncio.get_running_loop())
        for _ in range(10):
            await asyncio.sleep(0)


@pytest.mark.parametrize("kind", [FiveMethods, FiveCoroutines])
def test_a_service_with_five_methods(kind: type[FiveMethods] | type[FiveCoroutines]) -> None:
    """ADK's five methods are enough, plain or as coroutines: turns, order and seals work in one process."""
    service = kind()
    inner = service.inner if isinstance(service, FiveCoroutines) else service
    model = ScriptedModel([call("work")], ["Done."], ["Again."])
    runner = runner_of(model, tools=[work], service=service)
    first = Consumer().of(runner.run_async(USER, "s", "Hi"))
    second = Consumer().of(runner.run_async(USER, "s", "Again"))
    assert [said(first.wait().events), said(second.wait().events)] == [WHOLE[1:], ["agent: Again."]]
    session = inner.sessions[APP, USER, "s"]
    assert said(session.events) == [*WHOLE, "user: Again", "agent: Again."]
    assert [event.seq for event in session.events] == [1, 2, 3, 4, 5, 6]
    assert [len(request.contents) for request in model.requests] == [1, 3, 5]


def test_an_asynchronous_service_in_asyncio() -> None:
    """In asyncio the service's coroutines run on the loop that runs the stream."""
    service = FiveCoroutines()
    runner = runner_of(ScriptedModel([call("work")], ["Done."]), tools=[work], service=service)

    async def main() -> list[Event]:
        service.loops.clear()
        events = [event async for event in runner.run_async(USER, "s", "Hi")]
        assert service.loops == {asyncio.get_running_loop()}
        return events

    assert said(asyncio.run(main())) == WHOLE[1:]


@pytest.mark.parametrize("count", range(1, 4))
def test_left_inside_an_asynchronous_append(count: int) -> None:
    """A dispose while an awaited append is under way: at most that one is stored, and the session is free."""
    service, storing, ends = FiveCoroutines(), Gate(), Ends()
    appends: list[Event] = []

    async def append(session: Session, event: Event) -> Any:
        appends.append(event)
        if len(appends) == count:
            storing.entered.set()
            await asyncio.to_thread(storing.opened.wait, 5)
        return service.inner.append_event(session, event)

    service.append_event = append  # type: ignore[method-assign]
    runner = runner_of([[call("work")], ["Done."], ["Again."]], tools=[work], service=service, plugins=[ends])
    consumer = Consumer().of(runner.run_async(USER, "s", "Hi"))
    assert storing.entered.wait(5)
    consumer.dispose()
    storing.opened.set()
    assert ends.next().kind == "disposed"
    stored = said(service.inner.sessions[APP, USER, "s"].events)
    assert stored in (WHOLE[: count - 1], WHOLE[:count])
    assert said(consumer.finals) == WHOLE[1 : count - 1] if count > 1 else not consumer.events
    assert consumer.ends == []
