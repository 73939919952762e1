"""The cache of parsed events: bounded, without gaps."""

from __future__ import annotations

from rxagent.events import Event
from rxagent.sessions.event_cache import EventCache

SIZE = 1000


def events(first: int, last: int) -> list[Event]:
    """Events with these numbers."""
    return [Event(author="a", seq=seq) for seq in range(first, last + 1)]


def numbers(found: list[Event]) -> list[int | None]:
    """Their numbers."""
    return [event.seq for event in found]


def add(cache: EventCache, session: int, first: int, last: int) -> None:
    """Let the cache learn events."""
    cache.add(session, first, events(first, last), [SIZE] * (last - first + 1))


def test_known_events_continue() -> None:
    """What follows is appended, what is known twice is kept once, and a start outside is unknown."""
    cache = EventCache()
    add(cache, 1, 1, 3)
    add(cache, 1, 2, 5)
    assert numbers(cache.since(1, 1)) == [1, 2, 3, 4, 5]
    assert numbers(cache.since(1, 4)) == [4, 5]
    assert numbers(cache.since(1, 2, 4)) == [2, 3, 4]
    assert cache.since(1, 3, 2) == []
    assert cache.since(1, 6) == cache.since(1, 0) == cache.since(2, 1) == []


def test_no_gaps() -> None:
    """Of two stretches with a gap between them the longer one stays."""
    cache = EventCache()
    add(cache, 1, 1, 3)
    add(cache, 1, 8, 9)
    assert numbers(cache.since(1, 1)) == [1, 2, 3]
    add(cache, 1, 10, 14)
    assert cache.since(1, 1) == []
    assert numbers(cache.since(1, 12)) == [12, 13, 14]


def test_the_least_used_session_goes_first() -> None:
    """Past the limit the session that was not used for the longest time is forgotten."""
    cache = EventCache(limit=25 * SIZE)
    for session in (1, 2):
        add(cache, session, 1, 2)
    cache.since(1, 1)
    add(cache, 3, 1, 2)
    assert cache.since(2, 1) == []
    assert numbers(cache.since(1, 1)) == numbers(cache.since(3, 1)) == [1, 2]


def test_one_large_session_keeps_its_end() -> None:
    """Of a session larger than the limit the newest events stay, and it can grow on."""
    cache = EventCache(limit=50 * SIZE)
    add(cache, 1, 1, 100)
    assert cache.since(1, 90) == []
    assert numbers(cache.since(1, 95)) == [95, 96, 97, 98, 99, 100]
    for seq in range(101, 200):
        add(cache, 1, seq, seq)
    assert numbers(cache.since(1, 198)) == [198, 199]
    assert cache.since(1, 150) == []


def test_forgetting() -> None:
    """A forgotten session is unknown and costs nothing."""
    cache = EventCache(limit=15 * SIZE)
    add(cache, 1, 1, 2)
    cache.forget(1)
    add(cache, 2, 1, 1)
    add(cache, 3, 1, 1)
    assert cache.since(1, 1) == []
    assert numbers(cache.since(2, 1)) == numbers(cache.since(3, 1)) == [1]
