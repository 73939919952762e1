"""What a SQLite file can do to its user: each fault is one typed error that says what to do."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from rxagent.errors import (
    AppendError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreVersionError,
    UsageError,
)
from rxagent.events import Content, Event
from rxagent.sessions import InMemorySessionService, Session, SessionKey, SqliteSessionService, current_owner

KEY = SessionKey("app", "me", "s1")


def said(text: str) -> Event:
    """A user's event."""
    return Event(author="user", content=Content.user(text))


def get(service: SqliteSessionService) -> Session:
    """The session, which must exist."""
    session = service.get_session(*KEY)
    assert session is not None
    return session


@contextmanager
def opened(path: Path) -> Iterator[SqliteSessionService]:
    """A service, closed at the end."""
    with closing(SqliteSessionService(path)) as service:
        yield service


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed file with one session of one event, in a folder of its own."""
    path = tmp_path / "folder" / "s.db"
    path.parent.mkdir()
    with opened(path) as service:
        session = service.create_session(*KEY[:2], session_id=KEY.session_id)
        service.append_event(session, said("Hi"))
    return path


@contextmanager
def unwritable(path: Path) -> Iterator[None]:
    """The file or folder cannot be written: by its mode, or for root, who may all, by the immutable attribute."""
    if os.geteuid():
        mode = path.stat().st_mode
        path.chmod(mode & ~0o222)
        yield
        path.chmod(mode)
        return
    if shutil.which("chattr") is None or subprocess.run(["chattr", "+i", path], capture_output=True).returncode:
        pytest.skip("root may write everything, and chattr does not work here")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", path], check=True)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_read_only(path: Path, what: str) -> None:
    """A read-only file or folder can be read; writing says what is wrong and does not change the caller's session."""
    with unwritable(path if what == "file" else path.parent), opened(path) as service:
        session = get(service)
        assert [event.text for event in session.events] == ["Hi"]
        with pytest.raises(StoreReadOnlyError, match="make both writable"):
            service.append_event(session, said("no"))
        with pytest.raises(AppendError):
            service.append_event(session, said("no"))
        with pytest.raises(StoreReadOnlyError):
            service.create_session("app", "me")
        with pytest.raises(StoreReadOnlyError):
            service.open_run(KEY, "r1", owner=current_owner("x"), lease=1.0)
        assert [event.text for event in session.events] == ["Hi"]


def test_no_file_in_a_read_only_folder(tmp_path: Path) -> None:
    """Where no file can be created, construction says so."""
    with unwritable(tmp_path), pytest.raises(StoreReadOnlyError, match=str(tmp_path)):
        SqliteSessionService(tmp_path / "s.db")


def test_a_missing_folder(tmp_path: Path) -> None:
    """The error names the folder that is missing."""
    with pytest.raises(StoreError, match="missing does not exist; create it"):
        SqliteSessionService(tmp_path / "missing" / "s.db")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """The error says that the path is a folder."""
    with pytest.raises(StoreError, match="is a folder"):
        SqliteSessionService(tmp_path)


def test_no_path() -> None:
    """:memory: is not for several connections; the error names the service that is."""
    with pytest.raises(UsageError, match=InMemorySessionService.__name__):
        SqliteSessionService(":memory:")


@pytest.mark.parametrize(
    "content", [b"This is a diary, not a database.\n" * 200, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_no_database(tmp_path: Path, content: bytes) -> None:
    """A file that is something else is reported at construction and left as it is."""
    path = tmp_path / "diary.txt"
    path.write_bytes(content)
    with pytest.raises(StoreCorruptError, match=r"diary.txt.*left as it is"):
        SqliteSessionService(path)
    assert path.read_bytes() == content


def test_damaged_pages(path: Path) -> None:
    """Garbage in the middle of the file is a StoreCorruptError when it is met."""
    with opened(path) as service:
        session = get(service)
        for _ in range(50):
            service.append_event(session, said("x" * 3000))
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    with opened(path) as service, pytest.raises(StoreCorruptError, match="restore a copy"):
        service.get_session(*KEY)


def test_a_damaged_event(path: Path) -> None:
    """An event that cannot be understood is named by its number."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE events SET body = '{'")
        db.commit()
    with opened(path) as service, pytest.raises(StoreCorruptError, match="event 1 "):
        service.get_session(*KEY)


def test_a_newer_schema(path: Path) -> None:
    """A file of a newer rxagent is refused, with both versions, and left as it is."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreVersionError, match=r"version 99.*install a newer rxagent"):
        SqliteSessionService(path)


def test_a_database_of_another_program(tmp_path: Path) -> None:
    """Another program's database is refused, and nothing is added to it."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE events (id)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        SqliteSessionService(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_session_file(tmp_path: Path) -> None:
    """An empty file, as mktemp makes it, is taken."""
    (tmp_path / "s.db").touch()
    with opened(tmp_path / "s.db") as service:
        assert service.create_session("app", "me", session_id="s1").events == []


def fill(service: SqliteSessionService, session: Session) -> int:
    """Append batches of two until the disk is full; returns how many events were acknowledged."""
    acknowledged: list[Event] = []

    def append_for_ever() -> None:
        while len(acknowledged) < 10_000:
            acknowledged.extend(service.append_events(session, [said("x" * 5000)] * 2))

    with pytest.raises(StoreFullError, match="free space"):
        append_for_ever()
    return len(acknowledged)


@pytest.mark.promise("J9")
def test_a_full_file(path: Path) -> None:
    """SQLITE_FULL: the batch is not stored at all, all acknowledged ones are, and space makes it work again."""
    with opened(path) as service:
        service._file.write(lambda db: db.execute("PRAGMA max_page_count = 100").fetchall())
        session = get(service)
        stored = fill(service, session)
        assert len(session.events) == len(get(service).events) == stored + 1
        service._file.write(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchall())
        assert service.append_event(session, said("again")).seq == stored + 2
    with opened(path) as service:
        assert get(service).events[-1].text == "again"


@pytest.mark.promise("J9")
def test_a_full_disk(tmp_path: Path) -> None:
    """A disk without space, for real: nothing acknowledged is lost, also for a process that opens the file anew."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() or shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted only by root")
    try:
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * (256 << 10))
        with opened(disk / "s.db") as service:
            session = service.create_session(*KEY[:2], session_id=KEY.session_id)
            stored = fill(service, session)
            assert stored > 0
            assert len(session.events) == len(get(service).events) == stored
            ballast.unlink()
            service.append_event(session, said("again"))
        with opened(disk / "s.db") as service:
            assert [event.seq for event in get(service).events] == list(range(1, stored + 2))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_another_program_holds_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that others hold for long ends in an error that says where to look; a short one is waited for."""
    with opened(path) as service, closing(sqlite3.connect(path, isolation_level=None)) as other:
        session = get(service)
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr("rxagent.sessions.sqlite_file._PATIENCE", 0.1)
        with pytest.raises(StoreError, match="another process has kept") as caught:
            service.append_event(session, said("no"))
        assert "database is locked" not in str(caught.value)
        assert [event.text for event in get(service).events] == ["Hi"]
        pauses = iter([lambda: other.execute("ROLLBACK")])
        monkeypatch.setattr("rxagent.sessions.sqlite_file.time.sleep", lambda seconds: next(pauses)())
        assert service.append_event(session, said("yes")).seq == 2


def test_the_file_closes(path: Path) -> None:
    """Closing leaves the file alone, with nothing beside it; a closed service opens it again when it is used."""
    with opened(path) as service:
        service.append_event(get(service), said("a"))
        service.close()
        assert sorted(one.name for one in path.parent.iterdir()) == ["s.db"]
        assert len(get(service).events) == 2
