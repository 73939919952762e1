"""SqliteSessionService keeps what every session service promises, and reads only what is new."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rxagent.events import Event, EventActions
from rxagent.sessions import GetSessionConfig, Session, SessionKey, SqliteSessionService
from rxagent.sessions.encoding import event_of
from rxagent.testing.session_suite import SessionServiceSuite

KEY = SessionKey("app", "me", "s1")


class TestSqlite(SessionServiceSuite):
    """The conformance suite on a real file."""

    def make_service(self, folder: Path) -> SqliteSessionService:
        return SqliteSessionService(folder / "sessions.db")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[SqliteSessionService]:
    """A file with one empty session."""
    with closing(SqliteSessionService(tmp_path / "s.db")) as service:
        service.create_session(*KEY[:2], session_id=KEY.session_id)
        yield service


@pytest.fixture
def other(service: SqliteSessionService) -> Iterator[SqliteSessionService]:
    """Another service on the same file, as another process has one."""
    with closing(SqliteSessionService(service.path)) as other:
        yield other


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the events that are parsed."""
    numbers: list[int] = []

    def counting(text: str, seq: int) -> Event:
        numbers.append(seq)
        return event_of(text, seq)

    monkeypatch.setattr("rxagent.sessions.sqlite.event_of", counting)
    return numbers


def get(service: SqliteSessionService, config: GetSessionConfig | None = None) -> Session:
    """The session, which must exist."""
    session = service.get_session(*KEY, config)
    assert session is not None
    return session


def authored(*names: str) -> list[Event]:
    """Events of these authors."""
    return [Event(author=name) for name in names]


def test_the_tail_is_all_that_is_read_again(
    service: SqliteSessionService, other: SqliteSessionService, parsed: list[int]
) -> None:
    """A second read parses only what came since, also what another process appended."""
    session = get(other)
    other.append_events(session, authored("a") * 2500)  # more than one transaction fetches
    first = get(service)
    assert parsed == list(range(1, 2501))
    other.append_event(session, Event(author="b"))
    parsed.clear()
    second = get(service)
    assert parsed == [2501]
    assert second.events == session.events
    assert second.events[0] is first.events[0]
    assert get(service, GetSessionConfig(after_seq=2499)).events == session.events[-2:]
    assert parsed == [2501]


def test_pages_are_not_learned(
    service: SqliteSessionService, other: SqliteSessionService, parsed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page costs no memory once it is told; what is known for another reason is taken from there."""
    monkeypatch.setattr("rxagent.sessions.sqlite._CHUNK", 2)  # so that it takes several transactions
    other.append_events(get(other), authored(*"abcde"))
    for _ in range(2):
        assert [event.author for event in get(service, GetSessionConfig(limit=3)).events] == ["a", "b", "c"]
    assert parsed == [1, 2, 3, 1, 2, 3]
    get(service)
    parsed.clear()
    assert [event.author for event in get(service, GetSessionConfig(after_seq=1, limit=3)).events] == ["b", "c", "d"]
    assert parsed == []


def test_a_session_made_anew_elsewhere(service: SqliteSessionService, other: SqliteSessionService) -> None:
    """What was known of a session is not taken for its successor, which another process made under the same id."""
    service.append_events(get(service), authored("old", "old"))
    assert [event.author for event in get(service).events] == ["old", "old"]
    other.delete_session(*KEY)
    other.create_session(*KEY[:2], session_id=KEY.session_id)
    other.append_events(get(other), authored("new", "new", "new"))
    assert [event.author for event in get(service).events] == ["new", "new", "new"]


def test_a_session_deleted_while_it_is_read(
    service: SqliteSessionService, other: SqliteSessionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader never sees half a log: it finds the session's successor, or none."""
    service.append_events(get(service), authored(*"abcde"))
    monkeypatch.setattr("rxagent.sessions.sqlite._CHUNK", 2)
    successors = [True, False]

    def parse_and_delete(text: str, seq: int) -> Event:
        if seq == 2 and successors:
            other.delete_session(*KEY)
            if successors.pop(0):
                other.create_session(*KEY[:2], session_id=KEY.session_id)
                other.append_events(get(other), authored("new", "new", "new"))
        return event_of(text, seq)

    monkeypatch.setattr("rxagent.sessions.sqlite.event_of", parse_and_delete)
    assert service.get_session(*KEY) is None
    assert successors == []


def test_deleting_leaves_no_row(service: SqliteSessionService) -> None:
    """After a delete no table holds anything of the session."""
    event = Event(author="a", actions=EventActions(state_delta={"k": 1}))
    service.append_events(get(service), [event], claims=["c"])
    service.delete_session(*KEY)
    service.close()
    with closing(sqlite3.connect(service.path)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        counts = {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
    assert {name for name, count in counts.items() if count} == {"sqlite_sequence", "epochs"}


def test_events_are_synced_and_turns_are_not(service: SqliteSessionService) -> None:
    """An event waits for the disk before its append returns; opening a turn does not, and costs no sync."""
    statements: list[str] = []
    service._file.write(lambda db: db.set_trace_callback(statements.append))
    service._file.write(lambda db: db.execute("SELECT 1"), synced=False)
    service.append_event(get(service), Event(author="a"))
    level = service._file.write(lambda db: db.execute("PRAGMA synchronous").fetchone()[0])
    assert level == 2
    assert [one for one in statements if "synchronous" in one][:2] == [
        "PRAGMA synchronous = NORMAL",
        "PRAGMA synchronous = FULL",
    ]
