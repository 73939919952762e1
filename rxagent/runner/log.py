"""RunLog: append, then emit. What a run stores and shows, in one order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import final

from rxagent.errors import StaleSessionError
from rxagent.events import TEMP_PREFIX, Content, Event, EventActions
from rxagent.history.sealing import ABORTED, SEAL_STATUSES, is_seal
from rxagent.invocation import Invocation, InvocationContext, Outcome, is_checkpoint
from rxagent.sessions import GetSessionConfig
from rxagent.streams import CancelScope, Outlet, Stopped, settle

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

    __slots__ = ("_fate", "_half", "_invocation", "_lock", "_outlet", "_partials", "_saved", "epoch", "last", "sealed")

    def __init__(self, invocation: Invocation, fate: Fate, outlet: Outlet) -> None:
        self._invocation = invocation
        self._fate = fate
        self._outlet = outlet
        self._lock = threading.Lock()
        self._partials = 0  # shown since the last event that was stored
        self._half: list[Event] = []  # those partial events, when they may have to be kept
        self._saved = 0
        self.last: Event | None = None
        """The newest event of the run that was stored and says something: no checkpoint, nor one with state alone."""
        self.epoch: int | None = None
        self.sealed = 0

    def show(self, event: Event, context: InvocationContext) -> None:
        """Queue a partial event."""
        if self._fate.is_decided:
            return
        if event.content is not None:
            self._partials += 1
        if self._invocation.run_config.keep_partial_on_abort:
            self._half.append(event)
        self._outlet.put("next", self._replaced(event, context, self._invocation.scope))

    def append(self, event: Event, context: InvocationContext) -> None:
        """Store a final event and queue it. Raises what the service raises; then nothing is queued."""
        with self._lock:
            if self._fate.is_decided:
                return
            whole = self._with_pending_state(event)
            (stored,) = self._store(lambda: (whole,), self._invocation.scope)
            self._partials = 0
            self._half = []
            self._note(stored)
            self._outlet.put("next", self._shown(stored, context))

    def append_opening(
        self, opening: Callable[[], Sequence[Event]], claims: Callable[[], Sequence[str]] = tuple
    ) -> None:
        """Store seals and the user's event in one act; they are not shown.

        opening: makes them for the log as it is known; asked again when somebody else has appended meanwhile; claims,
        too: what the user's event decides once. Raises AlreadyClaimedError when somebody else has decided it.
        """
        with self._lock:
            self._invocation.scope.check()
            self._store(opening, self._invocation.scope, claims)

    def append_tail(
        self, make: Callable[[], Sequence[Event]], context: InvocationContext, may_append: Callable[[], bool]
    ) -> None:
        """Store and queue what ends an aborted run, which the decision refuses to everybody else.

        Partial events that nobody has seen yet are dropped. may_append: asked inside the lock, so that nothing is
        stored once the run has ended.
        """
        scope = CancelScope()
        with self._lock:
            if not may_append():
                return
            self._outlet.drop_partials()
            for stored in self._store(lambda: [*self._kept_half(), *make()], scope):
                self._note(stored)
                self.sealed += _seals_in(stored)
                self._outlet.put("next", self._replaced(stored, context, scope))

    def _kept_half(self) -> list[Event]:
        """The text that was shown and not saved, by author and branch, marked as incomplete."""
        reason = self._fate.outcome.reason if self._fate.outcome is not None else ""
        halves: dict[tuple[str | None, str | None], list[Event]] = {}
        for event in self._half:
            halves.setdefault((event.author, event.branch), []).append(event)
        return [
            Event(
                invocation_id=self._invocation.id,
                author=author,
                branch=branch,
                content=Content.model(text),
                error_code=ABORTED,
                error_message=f"The answer was cut: {reason}",
                custom_metadata={"incomplete": True},
            )
            for (author, branch), events in halves.items()
            if (text := "".join(event.text for event in events))
        ]

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

    def _store(
        self, make: Callable[[], Sequence[Event]], scope: CancelScope, claims: Callable[[], Sequence[str]] = tuple
    ) -> list[Event]:
        invocation = self._invocation
        while True:
            session, events, taken = invocation.session, make(), claims()
            if not events:
                return []
            more: dict[str, Sequence[str]] = {"claims": taken} if taken else {}
            try:
                stored: list[Event] = settle(
                    invocation.session_service.append_events(
                        session, events, epoch=self.epoch, expected_seq=session.last_seq, **more
                    ),
                    scope,
                )
            except StaleSessionError:  # somebody else appended, as a user may; the turn is still ours
                self._read_tail(scope)
                continue
            self._keep_temporary(events)
            return stored

    def _read_tail(self, scope: CancelScope) -> None:
        invocation = self._invocation
        session = invocation.session
        tail = settle(
            invocation.session_service.get_session(
                session.app_name, session.user_id, session.id, GetSessionConfig(after_seq=session.last_seq)
            ),
            scope,
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

    def _replaced(self, event: Event, context: InvocationContext, scope: CancelScope) -> Event:
        replacement = self._invocation.plugins.first("on_event_callback", scope, context, event)
        return event if replacement is None else replacement

    def _shown(self, stored: Event, context: InvocationContext) -> Event:
        """What is queued for a stored event. One whose append an abort has met is shown, too: as it was stored."""
        try:
            return self._replaced(stored, context, self._invocation.scope)
        except Stopped:
            outcome = self._fate.outcome
            if outcome is None or outcome.kind != "aborted":
                raise
            return stored

    def _note(self, event: Event) -> None:
        self._saved += 1
        if event.content is not None and not is_checkpoint(event):
            self.last = event


def _seals_in(event: Event) -> int:
    """How many of its responses were made up, because their calls gave none."""
    if not is_seal(event):
        return 0
    return sum((response.response or {}).get("status") in SEAL_STATUSES for response in event.function_responses)
