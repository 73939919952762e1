"""Session: what one process knows of a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rxagent.events import Event, now_ms

from .delta import apply_delta, kept
from .key import SessionKey
from .question import Question, pending_questions

__all__ = ["Session"]


class Session:
    """A session as it was read, and as it grows by what is appended through this object.

    id, app_name, user_id: its name. events: the log, oldest first. state: the session's own keys and those of its
    app (`app:`) and user (`user:`). last_seq: the sequence number of the last event stored. last_update_time: ms.
    """

    __slots__ = ("app_name", "events", "id", "last_seq", "last_update_time", "state", "user_id")

    def __init__(
        self,
        app_name: str,
        user_id: str,
        id: str,
        *,
        state: Mapping[str, Any] | None = None,
        events: Iterable[Event] = (),
        last_seq: int = 0,
        last_update_time: int | None = None,
    ) -> None:
        self.app_name = app_name
        self.user_id = user_id
        self.id = id
        self.state: dict[str, Any] = dict(state or {})
        self.events: list[Event] = list(events)
        self.last_seq = last_seq
        self.last_update_time = now_ms() if last_update_time is None else last_update_time

    @property
    def key(self) -> SessionKey:
        """What names the session."""
        return SessionKey(self.app_name, self.user_id, self.id)

    def record(self, event: Event) -> None:
        """Follow an event that was stored: the log, the state, the sequence number."""
        self.events.append(event)
        delta = event.actions.state_delta
        if delta:
            apply_delta(self.state, kept(delta))
        if event.seq is not None:
            self.last_seq = event.seq
        self.last_update_time = event.timestamp

    def record_stored(self, events: Sequence[Event], whole: Iterable[Event], first_seq: int) -> list[Event]:
        """Follow a batch that was stored from `first_seq` on; returns it with its sequence numbers.

        events: what was to be appended. whole: those of them that are not partial, in their stored form.
        """
        stored = [event.model_copy(update={"seq": seq}) for seq, event in enumerate(whole, first_seq)]
        for event in stored:
            self.record(event)
        rest = iter(stored)
        return [event if event.partial else next(rest) for event in events]

    def pending(self) -> list[Question]:
        """What is owed an answer: calls to be confirmed, and long-running ones, in the order of the log."""
        return pending_questions(self.events)

    def __repr__(self) -> str:
        return f"<Session {self.app_name}/{self.user_id}/{self.id}: {len(self.events)} events, seq {self.last_seq}>"
