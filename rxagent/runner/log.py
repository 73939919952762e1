"""RunLog: append, then emit. What a run stores and shows, in one order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import final

from rxagent.errors import StaleSessionError
from rxagent.events import TEMP_PREFIX, Event, EventActions
from rxagent.invocation import Invocation, InvocationContext, Outcome
from rxagent.sessions import GetSessionConfig
from rxagent.streams import Outlet, settle

from .fate import Fate

__all__ = ["RunLog"]


@final
class RunLog:
    """The run's side of the session: a final event is stored, then queued for the consumer; a partial one only queued.

        append   a--------b             nothing after the decision that ends the run
        store    -a--------b
        shown    --a--------b

    One lock orders storing and queueing, so that what is seen is what is stored, in the same order.
    """

    __slots__ = ("_fate", "_invocation", "_lock", "_outlet", "_partials", "_saved", "epoch", "sealed")

    def __init__(self, invocation: Invocation, fate: Fate, outlet: Outlet) -> None:
        self._invocation = invocation
        self._fate = fate
        self._outlet = outlet
        self._lock = threading.Lock()
        self._partials = 0  # shown since the last event that was stored
        self._saved = 0
        self.epoch: int | None = None
        self.sealed = 0

    def show(self, event: Event, context: InvocationContext) -> None:
        """Queue a partial event."""
        if self._fate.is_decided:
            return
        self._partials += 1
        self._outlet.put("next", self._replaced(event, context))

    def append(self, event: Event, context: InvocationContext) -> None:
        """Store a final event and queue it. Raises what the service raises; then nothing is queued."""
        with self._lock:
            if self._fate.is_decided:
                return
            whole = self._with_pending_state(event)
            (stored,) = self._store(lambda: (whole,))
            self._saved += 1
            self._partials = 0
            self._note(stored)
            self._outlet.put("next", self._replaced(stored, context))

    def append_opening(self, opening: Callable[[], Sequence[Event]]) -> None:
        """Store seals and the user's event in one act; they are not shown.

        opening: makes them for the log as it is known; asked again when somebody else has appended meanwhile.
        """
        with self._lock:
            self._invocation.scope.check()
            self._store(opening)

    def append_unseen(self, events: Sequence[Event]) -> None:
        """Store events that are not shown: compaction."""
        self.append_opening(lambda: events)

    def flush_state(self, context: InvocationContext) -> None:
        """What run-level hooks wrote and no event has carried goes out in one of its own."""
        if self._invocation.pending_state:
            self.append(Event(invocation_id=self._invocation.id, author=context.agent.name), context)

    def count_into(self, outcome: Outcome) -> None:
        """The counts of the run."""
        outcome.events_saved = self._saved
        outcome.calls_sealed = self.sealed
        outcome.partials_dropped = self._partials

    def _store(self, make: Callable[[], Sequence[Event]]) -> list[Event]:
        invocation = self._invocation
        while True:
            session, events = invocation.session, make()
            try:
                stored: list[Event] = settle(
                    invocation.session_service.append_events(
                        session, events, epoch=self.epoch, expected_seq=session.last_seq
                    ),
                    invocation.scope,
                )
            except StaleSessionError:  # somebody else appended, as a user may; the turn is still ours
                self._read_tail()
                continue
            self._keep_temporary(events)
            return stored

    def _read_tail(self) -> None:
        invocation = self._invocation
        session = invocation.session
        tail = settle(
            invocation.session_service.get_session(
                session.app_name, session.user_id, session.id, GetSessionConfig(after_seq=session.last_seq)
            ),
            invocation.scope,
        )
        if tail is None or tail.last_seq <= session.last_seq:
            raise StaleSessionError(
                f"session {session.id!r} was deleted or replaced while the run was under way; start a new run"
            )
        for event in tail.events:
            if event.seq is not None and event.seq > session.last_seq:  # whatever a user's service makes of after_seq
                session.record(event)

    def _keep_temporary(self, events: Sequence[Event]) -> None:
        """`temp:` keys live as long as the run: in its own view of the session, never in the store."""
        for event in events:
            for key, value in event.actions.state_delta.items():
                if key.startswith(TEMP_PREFIX):
                    self._invocation.session.state[key] = value

    def _with_pending_state(self, event: Event) -> Event:
        pending = self._invocation.take_pending_state()
        if not pending:
            return event
        actions = EventActions.merged((EventActions(state_delta=pending), event.actions))
        return event.model_copy(update={"actions": actions})

    def _replaced(self, event: Event, context: InvocationContext) -> Event:
        replacement = self._invocation.plugins.first("on_event_callback", self._invocation.scope, context, event)
        return event if replacement is None else replacement

    def _note(self, event: Event) -> None:
        if event.long_running_tool_ids:
            self._invocation.open_pauses |= event.long_running_tool_ids
