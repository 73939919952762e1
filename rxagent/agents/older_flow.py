"""ADK's older flow: workflows that stop behind a pause, and an answer that starts a new invocation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from reactivex import Observable
from reactivex import operators as ops

from rxagent.events import Event

__all__ = ["PauseSeen", "author_of_answered_call"]


@final
class PauseSeen:
    """Looks at the events of sub-agents; a workflow starts no further one after a pause."""

    __slots__ = ("is_seen",)

    def __init__(self) -> None:
        self.is_seen = False

    def watching(self) -> Callable[[Observable[Event]], Observable[Event]]:
        """An operator that passes everything on, and looks."""
        return ops.do_action(self._look)

    def _look(self, event: Event) -> None:
        self.is_seen = self.is_seen or bool(event.long_running_tool_ids and not event.partial)


def author_of_answered_call(events: Sequence[Event]) -> str | None:
    """The agent whose call the newest event answers, if it answers one."""
    if not events:
        return None
    ids = {response.id for response in events[-1].function_responses if response.id}
    if not ids:
        return None
    for event in reversed(events[:-1]):
        if any(call.id in ids for call in event.function_calls):
            return event.author
    return None
