"""ADK's routes for sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rxagent.errors import UsageError
from rxagent.events import Event, EventActions, Value, new_event_id
from rxagent.sessions import BaseSessionService, Session, SessionKey
from rxagent.streams import aio

from .body import read_json
from .desk import Desk
from .ids import checked_id, checked_key
from .run_order import validated
from .services import on_worker, settled
from .wire_json import dumps, question_json, session_json

__all__ = ["SessionRoutes", "json_response"]

_SESSIONS = "/apps/{app}/users/{user}/sessions"


class _NewSession(Value):
    session_id: str | None = None
    state: dict[str, Any] | None = None
    events: tuple[Event, ...] = ()


class _Patch(Value):
    state_delta: dict[str, Any]


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer in ADK's JSON."""
    return Response(dumps(value), status, dict(headers or {}), "application/json")


@final
class SessionRoutes:
    """Create, get, list, change and delete sessions. The header `Rxagent-Last-Seq` tells where a log ends."""

    __slots__ = ("_desk",)

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """For the application."""
        one = _SESSIONS + "/{session}"
        return [
            Route("/list-apps", self.apps),
            Route(_SESSIONS, self.sessions),
            Route(_SESSIONS, self.create, methods=["POST"]),
            Route(one, self.get),
            Route(one, self.create_named, methods=["POST"]),
            Route(one, self.patch, methods=["PATCH"]),
            Route(one, self.delete, methods=["DELETE"]),
            Route(one + "/pending", self.pending),
        ]

    async def apps(self, request: Request) -> Response:
        """GET /list-apps"""
        names = sorted(self._desk.runners)
        if request.query_params.get("detailed", "").lower() not in ("1", "true"):
            return json_response(names)
        roots = [(name, self._desk.runners[name].agent) for name in names]
        apps = [
            {"name": name, "rootAgentName": root.name, "description": root.description, "language": "python"}
            for name, root in roots
        ]
        return json_response({"apps": apps})

    async def sessions(self, request: Request) -> Response:
        """GET the sessions of a user, without their events."""
        service, app_name, user_id = self._place(request)
        found = await on_worker(lambda: service.list_sessions(app_name, user_id))
        return json_response([session_json(one, events=False) for one in found])

    async def create(self, request: Request) -> Response:
        """POST a session; its id, state and first events may be given."""
        service, app_name, user_id = self._place(request)
        asked = validated(_NewSession, await read_json(request, self._desk.settings.max_body) or {})
        if asked.session_id is not None:
            checked_id("sessionId", asked.session_id)
        for number, event in enumerate(asked.events):
            if event.long_running_tool_ids or event.actions != EventActions() or event.partial:
                raise HTTPException(400, f"event {number} has actions, pauses, or is partial; send plain events")

        def create() -> Session:
            session = settled(service.create_session(app_name, user_id, asked.state, asked.session_id))
            for event in asked.events:
                settled(service.append_event(session, event))
            return session

        return await _created(create)

    async def create_named(self, request: Request) -> Response:
        """POST a session with the id of the path; the body is its state."""
        service, key = self._session(request)
        state = await read_json(request, self._desk.settings.max_body)
        if state is not None and not isinstance(state, dict):
            raise HTTPException(422, "the body is no state; send an object, or nothing")
        return await _created(lambda: settled(service.create_session(*key[:2], state, key.session_id)))

    async def get(self, request: Request) -> Response:
        """GET a session with its events."""
        service, key = self._session(request)
        session = await on_worker(lambda: service.get_session(*key))
        if session is None:
            raise _not_found()
        return await _answer(session)

    async def patch(self, request: Request) -> Response:
        """PATCH the state, as an event of the user's."""
        service, key = self._session(request)
        asked = validated(_Patch, await read_json(request, self._desk.settings.max_body))

        def change() -> Session | None:
            session = settled(service.get_session(*key))
            if session is not None:
                actions = EventActions(state_delta=asked.state_delta)
                event = Event(invocation_id=f"p-{new_event_id()}", author="user", actions=actions)
                settled(service.append_event(session, event))
            return session

        session = await aio.in_thread(change)
        if session is None:
            raise _not_found()
        return await _answer(session)

    async def delete(self, request: Request) -> Response:
        """DELETE a session. Nothing when there is none."""
        service, key = self._session(request)
        await on_worker(lambda: service.delete_session(*key))
        return json_response(None)

    async def pending(self, request: Request) -> Response:
        """GET the questions that a session waits for."""
        service, key = self._session(request)
        session = await on_worker(lambda: service.get_session(*key))
        if session is None:
            raise _not_found()
        return json_response([question_json(one) for one in session.pending()])

    def _place(self, request: Request) -> tuple[BaseSessionService, str, str]:
        path = request.path_params
        runner = self._desk.runner(path["app"])
        return runner.session_service, runner.app_name, checked_id("userId", path["user"])

    def _session(self, request: Request) -> tuple[BaseSessionService, SessionKey]:
        service, app_name, user_id = self._place(request)
        return service, checked_key(app_name, user_id, request.path_params["session"])


async def _created(create: Any) -> Response:
    try:
        session = await aio.in_thread(create)
    except UsageError as error:
        raise HTTPException(409, str(error)) from None
    return await _answer(session)


async def _answer(session: Session) -> Response:
    """The session as JSON; a long log is written on a worker."""
    body = await aio.in_thread(lambda: dumps(session_json(session)))
    return Response(body, 200, {"Rxagent-Last-Seq": str(session.last_seq)}, "application/json")


def _not_found() -> HTTPException:
    return HTTPException(404, "Session not found; create it first, or look at the list of sessions")
