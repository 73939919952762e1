"""InMemoryMemoryService: memory that lives as long as the process, searched by words."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Final, NamedTuple

from .base import BaseMemoryService
from .entry import MemoryEntry, SearchMemoryResponse, iso_time

if TYPE_CHECKING:
    from rxagent.events import Event
    from rxagent.sessions import Session

__all__ = ["InMemoryMemoryService"]

_WORD: Final = re.compile(r"[^\W_]+")


class _Remembered(NamedTuple):
    """An event with its words."""

    words: frozenset[str]
    entry: MemoryEntry


class InMemoryMemoryService(BaseMemoryService):
    """For tests and small applications: an event is found when it has one of the query's words.

    Words are letters and digits of any script, and case does not count; thoughts, calls and responses are not
    searched. What is found comes session by session, as they were first put in, each in its order.

    It differs from ADK Java, whose words are ASCII letters alone, whose query keeps its punctuation ("name?" finds
    nothing), and which fails at an event with a call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: dict[tuple[str, str], dict[str, tuple[_Remembered, ...]]] = {}

    def add_session_to_memory(self, session: Session) -> None:
        """See the base."""
        remembered = tuple(_remembered(event) for event in session.events if event.text)
        with self._lock:
            self._users.setdefault((session.app_name, session.user_id), {})[session.id] = remembered

    def search_memory(self, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """See the base."""
        wanted = _words(query)
        with self._lock:
            sessions = tuple(self._users.get((app_name, user_id), {}).values())
        found = (one.entry for session in sessions for one in session if not wanted.isdisjoint(one.words))
        return SearchMemoryResponse(memories=tuple(found))


def _remembered(event: Event) -> _Remembered:
    assert event.content is not None  # it has a text
    entry = MemoryEntry(content=event.content, author=event.author, timestamp=iso_time(event.timestamp))
    return _Remembered(_words(event.text), entry)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))
