"""Desk: starts runs, finds them, stops them; what all routes share."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from typing import Final, final

from starlette.exceptions import HTTPException

from rxagent.errors import SessionBusyError
from rxagent.events import Event
from rxagent.invocation import RunConfig, StopDepth
from rxagent.runner import RunHandle, Runner
from rxagent.sessions import BaseSessionService, GetSessionConfig, SessionKey
from rxagent.streams import CancelScope, aio, drop, settle

from .follow import follow_live, follow_log
from .ids import checked_key
from .live_run import LiveRun
from .metrics import Metrics
from .reader import Reader
from .run_order import Brought, RunOrder
from .run_record import RunRecord
from .run_table import RunFilter, RunTable, StopNote
from .run_table_memory import MemoryRunTable
from .settings import ServeSettings
from .wire_json import outcome_json

__all__ = ["Desk"]

_NOTHING: Final = Brought()
_NO_EVENTS: Final = GetSessionConfig(num_recent_events=0)
_LOOK: Final = 0.2  # seconds between two looks for stops that came to another process
_TOUCH: Final = 2.0  # seconds between two signs of life
_ASK: Final = 0.05  # seconds between two looks whether a run of another process has ended
_GRACE: Final = RunConfig.model_fields["cancel_grace_period"].default  # seconds; of each run that is started here
_LONGER: Final = 2.0  # seconds that an answer to a stop may take beyond the grace


@final
class Desk:
    """The runs of a server. On one event loop; what blocks goes to workers.

    runners: one for each app; those that share a session service share a table of runs.
    """

    def __init__(self, runners: Iterable[Runner], settings: ServeSettings) -> None:
        self.runners: dict[str, Runner] = {runner.app_name: runner for runner in runners}
        self.settings = settings
        self.metrics = Metrics()
        self.readers = 0
        self.live: dict[str, LiveRun] = {}
        self._tables: dict[BaseSessionService, RunTable] = {}
        for runner in self.runners.values():
            if runner.session_service not in self._tables:
                self._tables[runner.session_service] = _table_for(runner.session_service)
        self._closing = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None

    # -- finding -------------------------------------------------------------------------------------------------------

    def runner(self, app_name: str | None) -> Runner:
        """The app's runner; the only one, without a name. Status 404 for an app that is not served."""
        if app_name is None and len(self.runners) == 1:
            return next(iter(self.runners.values()))
        runner = self.runners.get(app_name or "")
        if runner is None:
            raise HTTPException(404, f"there is no app {app_name!r} here; see /list-apps")
        return runner

    def service(self, app_name: str) -> BaseSessionService:
        """Where the app's sessions are."""
        return self.runner(app_name).session_service

    def table(self, app_name: str) -> RunTable:
        """The table that the app's runs stand in."""
        return self._tables[self.service(app_name)]

    async def find(self, run_id: str) -> RunRecord:
        """The run, of whichever process. Status 404."""
        if (live := self.live.get(run_id)) is not None:
            return live.record
        return await self._found(run_id, lambda table: table.find(run_id))

    async def find_named(self, name: str) -> RunRecord:
        """The latest run that its client has named so, of whichever process. Status 404."""
        return await self._found(name, lambda table: table.named(name))

    async def _found(self, run_id: str, look: Callable[[RunTable], RunRecord | None]) -> RunRecord:
        records = await aio.in_thread(lambda: [look(table) for table in self._tables.values()])
        found = [one for one in records if one is not None and one.key.app_name in self.runners]
        if not found:
            raise HTTPException(404, f"there is no run {run_id!r}; see /runs")
        return max(found, key=lambda one: one.started_at)

    async def runs(self, wanted: RunFilter, limit: int) -> list[RunRecord]:
        """Runs of all processes, the latest first."""

        def read() -> list[RunRecord]:
            rows = [row for table in self._tables.values() for row in table.runs(wanted, limit)]
            return sorted(rows, key=lambda row: row.started_at, reverse=True)[:limit]

        return [row for row in await aio.in_thread(read) if row.key.app_name in self.runners]

    def standing(self) -> Counter[str]:
        """The living runs of this process by state."""
        return Counter(run.handle.state for run in self.live.values())

    # -- starting ------------------------------------------------------------------------------------------------------

    async def start(self, order: RunOrder, brought: Brought = _NOTHING) -> LiveRun:
        """Start a run. Status 404 without its session, 409 when that has a run and the order rejects, 503 at the end.

        The run's coroutines go to rxagent's own loop: one that blocks cannot freeze the server.
        """
        if self._closing.is_set():
            raise HTTPException(503, "this server is shutting down; ask another")
        runner = self.runner(order.app_name)
        key = checked_key(runner.app_name, order.user_id, order.session_id)
        if order.busy == "interrupt":
            await self._interrupt(key)
        handle, record = await aio.in_thread(self._start, runner, key, order, brought)
        run = LiveRun(handle, record, self)
        self.live[run.run_id] = run
        self.metrics.started(key.app_name)
        if self._closing.is_set():  # it began while the others were told
            run.abort("worker_shutdown")
        if runner.session_service.shared and (self._watch is None or self._watch.done()):
            self._watch = asyncio.create_task(self._watch_notes(), name="rxagent-stop-notes")
        return run

    def _start(self, runner: Runner, key: SessionKey, order: RunOrder, brought: Brought) -> tuple[RunHandle, RunRecord]:
        """On a worker: the session is looked for, the run gets a row, and starts."""
        creates = runner.auto_create_session if order.auto_create is None else order.auto_create
        if not creates and settle(runner.session_service.get_session(*key, _NO_EVENTS), CancelScope()) is None:
            raise HTTPException(404, f"Session not found: {key.session_id}; create it first")
        table = self._tables[runner.session_service]
        try:
            ticket = table.reserve(key, only_when_free=order.busy == "reject")
        except SessionBusyError as error:
            raise HTTPException(409, str(error)) from None
        config = RunConfig(
            streaming_mode="sse" if order.streaming else "none",
            auto_create_session=creates,
            tools=brought.tools,
            instructions=brought.instructions,
        )
        try:
            handle = runner.start(
                key.user_id,
                key.session_id,
                order.new_message,
                config,
                state_delta=order.state_delta,
                invocation_id=order.invocation_id,
            )
        except BaseException:
            table.cancel(ticket)
            raise
        return handle, table.enter(ticket, handle.run_id, brought.name)

    def seen(self, event: Event) -> None:
        """A run has emitted an event."""
        self.metrics.event(event)

    async def resumed(self, run: LiveRun, first_seq: int) -> None:
        """The run goes on with an earlier invocation: its row says so before its readers are told."""
        invocation_id = run.handle.invocation_id
        try:
            await aio.in_thread(self.table(run.record.key.app_name).resume, run.run_id, invocation_id, first_seq)
        except Exception as error:  # another process cannot tell its events; this one can
            drop(error, "the row of a run that resumes another")
        run.record = run.record._replace(invocation_id=invocation_id, first_seq=first_seq)

    async def ended(self, run: LiveRun) -> None:
        """The run has ended: its row says so before its readers are told."""
        outcome = run.outcome
        assert outcome is not None
        fields = outcome_json(outcome)
        try:
            ended = await aio.in_thread(self.table(run.record.key.app_name).end, run.run_id, fields, run.last_seq)
        except Exception as error:  # the store takes nothing more; the log is what counts
            drop(error, "the row of a run that has ended")
            ended = None
        run.record = ended or run.record._replace(ended_at=time.time(), outcome=fields, last_seq=run.last_seq)
        self.metrics.ended(run.record.key.app_name, outcome)
        self.live.pop(run.run_id, None)

    # -- reading -------------------------------------------------------------------------------------------------------

    def frames(self, run: LiveRun, cursor: int | None = None) -> AsyncGenerator[bytes, None]:
        """The frames of a run of this process. What comes from now on waits in them; close them to leave."""
        return self._read(run, run.attach(cursor))

    async def _read(self, run: LiveRun, reader: Reader) -> AsyncGenerator[bytes, None]:
        self.readers += 1
        service = self.service(run.record.key.app_name)
        try:
            async for chunk in follow_live(run, reader, service, self.settings.keep_alive):
                yield chunk
        finally:
            run.detach(reader)
            self.readers -= 1
            self.metrics.reader_partials_dropped += reader.dropped

    async def stored_frames(self, record: RunRecord, cursor: int) -> AsyncGenerator[bytes, None]:
        """The frames of a run that is elsewhere, or over."""
        self.readers += 1
        try:
            find, service = self.table(record.key.app_name).find, self.service(record.key.app_name)
            async for chunk in follow_log(record, find, cursor, service, self.settings.keep_alive):
                yield chunk
        finally:
            self.readers -= 1

    # -- stopping ------------------------------------------------------------------------------------------------------

    async def abort(self, run_id: str, reason: str, after: StopDepth) -> tuple[RunRecord, bool]:
        """Ask a run to stop, wherever it is; the run, and True when it has ended: its seal is stored then.

        Waits as long as a stopped run may take: its grace, and two seconds.
        """
        record = await self.find(run_id)
        wait = _GRACE + _LONGER
        if (run := self.live.get(run_id)) is not None:
            run.abort(reason, after)
            with suppress(TimeoutError):
                await asyncio.wait_for(run.ended.wait(), wait)
            return run.record, run.ended.is_set()
        if record.is_over:
            return record, True
        await aio.in_thread(self.table(record.key.app_name).ask_to_stop, StopNote(run_id, reason, after))
        deadline = asyncio.get_running_loop().time() + wait
        while not record.is_over and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_ASK)
            record = await self.find(run_id)
        return record, record.is_over

    async def _interrupt(self, key: SessionKey) -> None:
        """Stop the runs of the session, those in line, too; the new one comes behind them.

        A run that no server started, but a shell on the same file, is asked by the store.
        """
        table, reason = self.table(key.app_name), "interrupted"
        living = await aio.in_thread(table.living, key)
        for record in living:
            if (run := self.live.get(record.run_id)) is not None:
                run.abort(reason)
            else:
                await aio.in_thread(table.ask_to_stop, StopNote(record.run_id, reason, "now"))
        if not living:
            service = self.service(key.app_name)
            await aio.in_thread(lambda: settle(service.request_stop(key, None, reason), CancelScope()))

    async def _watch_notes(self) -> None:
        """Look for stops that came to other processes, and give signs of life, as long as there are runs."""
        touched = 0.0
        while self.live:
            try:
                is_due = time.monotonic() > touched + _TOUCH
                touched = time.monotonic() if is_due else touched
                for table in self._tables.values():
                    if is_due:
                        await aio.in_thread(table.touch)
                    for run_id, reason, after in await aio.in_thread(table.stop_notes):
                        if (run := self.live.get(run_id)) is not None:
                            run.abort(reason, after)
            except Exception as error:  # the next look may do better
                drop(error, "stops that came to other processes")
            await asyncio.sleep(_LOOK)

    async def close(self, reason: str = "worker_shutdown") -> None:
        """Take no more runs, stop those that there are, and wait until they have sealed and ended. Twice is once."""
        self._closing.set()
        runs = list(self.live.values())
        for run in runs:
            run.abort(reason)
        if runs:
            await asyncio.wait([run.task for run in runs], timeout=_GRACE + _LONGER)
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch
            self._watch = None
        for table in self._tables.values():
            await aio.in_thread(table.close)


def _table_for(service: BaseSessionService) -> RunTable:
    path = getattr(service, "path", None)
    if not service.shared or not isinstance(path, str):
        return MemoryRunTable()
    from .run_table_sqlite import SqliteRunTable

    return SqliteRunTable(path)
