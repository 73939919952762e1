"""Routes of runs: start, list, stop, read again."""

from __future__ import annotations

import asyncio
from typing import Final, final, get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rxagent.invocation import StopDepth
from rxagent.streams import aio

from .body import read_json
from .desk import Desk
from .emitted import EmittedEvents
from .event_stream import EventStreamResponse, gone
from .faults import status_of
from .run_order import read_order
from .run_record import RecordState, RunRecord
from .run_table import RunFilter
from .session_routes import json_response
from .wire_json import event_json

__all__ = ["RUN_ID", "RunRoutes"]

RUN_ID: Final = "Rxagent-Run-Id"
"""The header that tells a run's id."""

_MOST: Final = 1000  # runs in one list
_LONGEST_REASON: Final = 200


@final
class RunRoutes:
    """ADK's `/run` and `/run_sse`, and `/runs`."""

    __slots__ = ("_desk",)

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """For the application."""
        return [
            Route("/run", self.run, methods=["POST"]),
            Route("/run_sse", self.run_sse, methods=["POST"]),
            Route("/runs", self.runs),
            Route("/runs/{run}", self.one),
            Route("/runs/{run}/abort", self.abort, methods=["POST"]),
            Route("/runs/{run}/events", self.events),
        ]

    async def run_sse(self, request: Request) -> Response:
        """POST /run_sse: a run, as it goes."""
        order = await read_order(request, self._desk.settings.max_body)
        run = await self._desk.start(order)
        leave = (lambda: run.abort("client_disconnect")) if order.on_disconnect == "abort" else None
        return EventStreamResponse(self._desk.frames(run), {RUN_ID: run.run_id}, leave)

    async def run(self, request: Request) -> Response:
        """POST /run: the events of a run, at its end."""
        order = await read_order(request, self._desk.settings.max_body)
        run = await self._desk.start(order)
        end = asyncio.create_task(run.ended.wait())
        watch = asyncio.create_task(gone(request.receive))
        try:
            await asyncio.wait((end, watch), return_when=asyncio.FIRST_COMPLETED)
        finally:
            end.cancel()
            watch.cancel()
        if not run.ended.is_set():
            if order.on_disconnect == "abort":
                run.abort("client_disconnect")
            return Response(status_code=499)  # nobody reads it; ADK's and nginx's number
        outcome = run.record.outcome or {}
        headers = {RUN_ID: run.run_id, "Rxagent-Outcome": str(outcome.get("kind", ""))}
        if outcome.get("kind") == "failed":
            error = None if run.outcome is None else run.outcome.error
            return json_response({"detail": outcome.get("error") or "the run failed"}, status_of(error), headers)
        log = EmittedEvents(self._desk.service(run.record.key.app_name), run.record)
        events = await aio.in_thread(lambda: [event_json(event) for event in log.behind()])
        return json_response(events, headers=headers)

    async def runs(self, request: Request) -> Response:
        """GET /runs"""
        query = request.query_params
        limit = query.get("limit", "100")
        if not limit.isdecimal():
            raise HTTPException(422, "limit is no number")
        state = query.get("state")
        if state not in (None, *get_args(RecordState)):
            raise HTTPException(422, f"state is none of {', '.join(get_args(RecordState))}")
        unended = state in ("waiting", "running", "stopping")
        wanted = RunFilter(query.get("app"), query.get("user"), query.get("session"), unended)
        most = _MOST if state is not None else min(int(limit), _MOST)
        found = [self._as_json(one) for one in await self._desk.runs(wanted, most)]
        return json_response([one for one in found if state in (None, one["state"])][: int(limit)])

    async def one(self, request: Request) -> Response:
        """GET /runs/R"""
        return json_response(self._as_json(await self._desk.find(request.path_params["run"])))

    async def abort(self, request: Request) -> Response:
        """POST /runs/R/abort"""
        asked = await read_json(request, self._desk.settings.max_body) or {}
        reason = asked.get("reason", "user_stop") if isinstance(asked, dict) else None
        after: StopDepth = asked.get("after", "now") if isinstance(asked, dict) else "now"
        if not isinstance(reason, str) or not 0 < len(reason) <= _LONGEST_REASON:
            raise HTTPException(422, f"reason is no text of at most {_LONGEST_REASON} characters")
        if after not in get_args(StopDepth):
            raise HTTPException(422, f"after is none of {', '.join(get_args(StopDepth))}")
        record, is_over = await self._desk.abort(request.path_params["run"], reason, after)
        return json_response(self._as_json(record), 200 if is_over else 202)

    async def events(self, request: Request) -> Response:
        """GET /runs/R/events"""
        run_id = request.path_params["run"]
        last = request.headers.get("last-event-id") or request.query_params.get("last_event_id") or "0"
        if not last.isdecimal():
            raise HTTPException(422, "Last-Event-ID is no sequence number; send the id of the last frame that had one")
        record = await self._desk.find(run_id)
        live = self._desk.live.get(run_id)
        frames = self._desk.frames(live, int(last)) if live is not None else self._desk.stored_frames(record, int(last))
        return EventStreamResponse(frames, {RUN_ID: run_id})

    def _as_json(self, record: RunRecord) -> dict[str, object]:
        live = self._desk.live.get(record.run_id)
        return record.as_json() if live is None else live.as_json()
