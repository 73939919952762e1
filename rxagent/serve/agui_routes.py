"""AG-UI 1.0: runs for its clients. A run is one POST; there is no going back to a stream in this protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any, Final, final

from ag_ui.core import BaseEvent, MessagesSnapshotEvent, RunAgentInput, StateSnapshotEvent
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rxagent.sessions import Session, SessionKey
from rxagent.sessions.delta import apply_delta, kept
from rxagent.streams import CancelScope, aio, settle

from .agui_input import AguiRun, order_of, read_input
from .agui_messages import messages_of, said_ids
from .agui_stream import AguiStream
from .body import read_json
from .desk import Desk
from .event_stream import EventStreamResponse
from .ids import checked_key
from .live_run import LiveRun
from .run_routes import RUN_ID
from .session_routes import json_response

__all__ = ["agui_routes"]

_USER: Final = "me"


def agui_routes(desk: Desk) -> list[Route]:
    """For `create_app(..., more=(agui_routes,))`.

    POST /agui[/APP]?user&on_disconnect&busy    RunAgentInput -> AG-UI events; threadId is the session's id
    POST /agui/runs/RUN/cancel                  {"reason"?} -> run, once the seal is stored; RUN: the client's runId,
                                                of a run of any process on the database; of several the latest

    RunAgentInput: `tools` are offered to the models of this run. A call of one is left to the client: the run ends with
    `success` and the call in `pendingToolCallIds`, a tool message in the next request answers it. A name that an agent
    has for a tool of its own stays with that one. In an app of several agents the others go on behind such a call when
    it is resumable, as that of `rxagent serve` is. `context` is told to the models, behind their instructions; neither
    is stored. `state`: where it differs from the session's, it is a change by the user; keys that it lacks stay, and
    `app:`, `user:` and `temp:` keys change by `forwardedProps.stateDelta` alone. Of `messages` count the last ones.

    CUSTOM events: `rxagent.tool_progress`, what a tool reports; `rxagent.not_saved`, texts that were shown only;
    `rxagent.outcome`, how a stopped run ended, for clients without `protocolVersion`: they get no outcome `cancelled`,
    which they refuse, no subagents and no `pendingToolCallIds`.

    A client that hangs up stops its run, and sees a broken stream; a Stop that lets it see the end (`cancelled`, calls
    closed by results) is the second route. Frames hold one event each. What is wrong with a request is an HTTP status.
    """
    return _AguiRoutes(desk).routes()


@final
class _AguiRoutes:
    __slots__ = ("_desk",)

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        return [
            Route("/agui", self.run, methods=["POST"]),
            Route("/agui/{app}", self.run, methods=["POST"]),
            Route("/agui/runs/{run}/cancel", self.cancel, methods=["POST"]),
        ]

    async def run(self, request: Request) -> Response:
        """POST /agui"""
        asked = read_input(await read_json(request, self._desk.settings.max_body))
        runner = self._desk.runner(request.path_params.get("app"))
        key = checked_key(runner.app_name, request.query_params.get("user", _USER), asked.thread_id)
        session = await aio.in_thread(self._session, key)
        wanted = order_of(asked, session, key.app_name, key.user_id, request.query_params)
        run = await self._desk.start(wanted.order, wanted.brought)
        chunks = self._desk.frames(run)  # at once: the reader is there before the first event
        frames = self._frames(chunks, run, asked, wanted, session)
        leave = (lambda: run.abort("client_disconnect")) if wanted.order.on_disconnect == "abort" else None
        return EventStreamResponse(frames, {RUN_ID: run.run_id}, leave)

    async def cancel(self, request: Request) -> Response:
        """POST /agui/runs/RUN/cancel"""
        named = await self._desk.find_named(request.path_params["run"])
        asked = await read_json(request, self._desk.settings.max_body)
        reason = asked.get("reason") if isinstance(asked, dict) else None
        record, is_over = await self._desk.abort(named.run_id, str(reason or "user_stop")[:200], "now")
        return json_response(record.as_json(), 200 if is_over else 202)

    async def _frames(
        self,
        chunks: AsyncGenerator[bytes, None],
        run: LiveRun,
        asked: RunAgentInput,
        wanted: AguiRun,
        session: Session | None,
    ) -> AsyncGenerator[bytes, None]:
        """The run's own frames, in AG-UI's words."""
        state = {} if session is None else dict(kept(session.state))
        apply_delta(state, kept(wanted.order.state_delta or {}))
        modern = asked.protocol_version is not None
        root = self._desk.runner(run.record.key.app_name).agent.name
        theirs = [tool.name for tool in wanted.brought.tools]
        stream = AguiStream(asked.thread_id, asked.run_id, root, modern=modern, state=state, client_tools=theirs)
        yield _encoded([*stream.begin(run.run_id), StateSnapshotEvent(snapshot=state)])
        yield _encoded(stream.answered(wanted.answered))
        is_broken, error = wanted.is_broken, None
        async with aclosing(chunks):
            async for chunk in chunks:
                for name, event in _parsed(chunk):
                    if is_broken and event is not None:
                        is_broken = False
                        yield _encoded([await self._snapshot(run, stream, asked, before=True)])
                    if name == "error":
                        error = event.get("error")
                    elif name == "outcome":
                        if stream.is_garbled:
                            yield _encoded([await self._snapshot(run, stream, asked)])
                        found = await aio.in_thread(self._session, run.record.key)
                        questions = [] if found is None else found.pending()
                        yield _encoded(stream.end(event["customMetadata"]["outcome"], questions, error))
                    elif event is not None:
                        yield _encoded(stream.event(event))
                    else:
                        yield b": still here\n\n"

    async def _snapshot(
        self, run: LiveRun, stream: AguiStream, asked: RunAgentInput, *, before: bool = False
    ) -> BaseEvent:
        """All messages of the log. before: without those of this run, which are told as they come."""
        found = await aio.in_thread(self._session, run.record.key)
        events = [] if found is None else found.events
        if before:
            own = run.record.invocation_id
            events = [event for event in events if event.author == "user" or event.invocation_id != own]
        return MessagesSnapshotEvent(messages=messages_of(events, stream.ids | said_ids(events, asked.messages)))

    def _session(self, key: SessionKey) -> Session | None:
        found: Session | None = settle(self._desk.runner(key.app_name).session_service.get_session(*key), CancelScope())
        return found


def _encoded(events: Iterable[BaseEvent]) -> bytes:
    """Frames with one event each, absent fields left out."""
    return b"".join(b"data: %s\n\n" % event.model_dump_json(by_alias=True).encode() for event in events)


def _parsed(chunk: bytes) -> Iterable[tuple[str, Any]]:
    """The frames of a chunk: their kinds and data; data is None for a comment."""
    for frame in chunk.split(b"\n\n"):
        name, data = "", None
        for line in frame.split(b"\n"):
            field, _, value = line.partition(b": ")
            if field == b"event":
                name = value.decode()
            elif field == b"data":
                data = json.loads(value)
        if frame:
            yield name, data
