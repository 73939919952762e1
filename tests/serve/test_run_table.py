"""Both tables of runs keep the same promises."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rxagent import SqliteSessionService
from rxagent.errors import SessionBusyError
from rxagent.serve.run_record import LOST
from rxagent.serve.run_table import RunFilter, RunTable, StopNote
from rxagent.serve.run_table_memory import MemoryRunTable
from rxagent.serve.run_table_sqlite import SqliteRunTable
from rxagent.sessions import LEASE, Owner, SessionKey, current_owner

KEY = SessionKey("app", "me", "s1")
OTHER = SessionKey("app", "me", "s2")
ENDED = {"kind": "completed"}


@pytest.fixture(params=["memory", "sqlite"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunTable]:
    if request.param == "memory":
        yield MemoryRunTable()
        return
    service = SqliteSessionService(tmp_path / "chat.db")
    found = SqliteRunTable(service.path)
    yield found
    found.close()
    service.close()


def test_a_run_is_found_from_its_start_to_long_after_its_end(table: RunTable) -> None:
    """By id, by session, in the list; ended, with its outcome, it lives no more."""
    record = table.enter(table.reserve(KEY), "e-1")
    assert (record.run_id, record.key, record.state, record.is_over) == ("e-1", KEY, "running", False)
    table.enter(table.reserve(OTHER), "e-2")
    assert table.find("e-1") == record
    assert table.living(KEY) == [record]
    ended = table.end("e-1", ENDED, 7)
    assert ended is not None
    assert (ended.state, ended.outcome, table.find("e-1"), table.living(KEY)) == ("ended", ENDED, ended, [])
    assert [run.run_id for run in table.runs(RunFilter(), 10)] == ["e-2", "e-1"]
    assert [run.run_id for run in table.runs(RunFilter(session_id="s1"), 10)] == ["e-1"]
    assert [run.run_id for run in table.runs(RunFilter(unended=True), 10)] == ["e-2"]
    assert len(table.runs(RunFilter(), 1)) == 1
    assert (table.find("none"), table.end("none", ENDED, 7)) == (None, None)


def test_a_run_is_found_by_its_clients_id(table: RunTable) -> None:
    """The latest one, when clients have given an id twice; living or ended."""
    assert table.named("r1") is None
    table.enter(table.reserve(KEY), "e-1", "r1")
    table.enter(table.reserve(KEY), "e-2")
    found = table.named("r1")
    assert found is not None
    assert (found.run_id, found.name) == ("e-1", "r1")
    table.enter(table.reserve(OTHER), "e-3", "r1")
    ended = table.end("e-3", ENDED, 7)
    assert (table.named("r1"), table.named("")) == (ended, None)


def test_a_table_forgets_the_oldest(table: RunTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the ended ones, their clients' ids with them."""
    for module in ("memory", "sqlite"):
        monkeypatch.setattr(f"rxagent.serve.run_table_{module}.KEPT", 2)
    for number in range(4):
        table.enter(table.reserve(KEY), f"e-{number}", f"r{number}")
        table.end(f"e-{number}", ENDED, 7)
    assert [run.run_id for run in table.runs(RunFilter(), 10)] == ["e-3", "e-2"]
    assert [table.named(f"r{number}") is None for number in range(4)] == [True, True, False, False]
    if isinstance(table, MemoryRunTable):
        assert len(table._names) == 2


def test_a_table_of_an_earlier_version_is_taken(tmp_path: Path) -> None:
    """It gets the column that it lacks, and keeps its rows."""
    service = SqliteSessionService(tmp_path / "chat.db")
    table = SqliteRunTable(service.path)
    table.enter(table.reserve(KEY), "e-1")
    table.close()
    with closing(sqlite3.connect(service.path)) as db:
        db.execute("DROP INDEX named_runs")
        db.execute("ALTER TABLE served_runs DROP COLUMN name")
    again = SqliteRunTable(service.path)
    again.enter(again.reserve(OTHER), "e-2", "r2")
    assert (again.find("e-1") is not None, again.named("r2") is not None) == (True, True)
    for one in (again, service):
        one.close()


def test_one_of_two_gets_a_free_session(table: RunTable) -> None:
    """Reserved is taken; given back, or ended, is free."""
    ticket = table.reserve(KEY, only_when_free=True)
    with pytest.raises(SessionBusyError):
        table.reserve(KEY, only_when_free=True)
    table.reserve(OTHER, only_when_free=True)
    table.cancel(ticket)
    table.enter(table.reserve(KEY, only_when_free=True), "e-1")
    with pytest.raises(SessionBusyError):
        table.reserve(KEY, only_when_free=True)
    table.end("e-1", ENDED, 7)
    table.reserve(KEY, only_when_free=True)


def test_a_note_reaches_the_process_that_has_the_run(tmp_path: Path) -> None:
    """It stands in the file until the run has ended; the first one counts."""
    service = SqliteSessionService(tmp_path / "chat.db")
    one, two = SqliteRunTable(service.path), SqliteRunTable(service.path)
    one.enter(one.reserve(KEY), "e-1")
    two.ask_to_stop(StopNote("e-1", "first", "tool"))
    two.ask_to_stop(StopNote("e-1", "second", "now"))
    assert one.stop_notes() == [StopNote("e-1", "first", "tool")]
    one.end("e-1", ENDED, 7)
    assert one.stop_notes() == []
    for table in (one, two, service):
        table.close()


def test_a_process_that_cannot_be_looked_at_is_judged_by_its_signs_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in another container: its runs live while it touches them, and some seconds longer."""
    service = SqliteSessionService(tmp_path / "chat.db")
    table = SqliteRunTable(service.path)
    table._owner = current_owner("serve")._replace(pid_namespace="elsewhere")
    table.enter(table.reserve(KEY), "e-1")
    now = time.time()
    assert [run.state for run in table.living(KEY)] == ["running"]
    monkeypatch.setattr(time, "time", lambda: now + 2 * LEASE)
    assert table.living(KEY) == []
    table.touch()
    assert [run.state for run in table.living(KEY)] == ["running"]
    for one in (table, service):
        one.close()


def test_runs_of_a_process_that_is_gone_are_lost(tmp_path: Path) -> None:
    """They hold no session, and are ended, with a reason, when a server opens the file."""
    service = SqliteSessionService(tmp_path / "chat.db")
    table = SqliteRunTable(service.path)
    table._owner = Owner(*current_owner("serve")[:3], 1 << 30, 1)
    table.enter(table.reserve(KEY), "e-1")
    [lost] = table.runs(RunFilter(), 10)
    assert (lost.state, lost.as_json()["outcome"], table.living(KEY)) == ("lost", LOST, [])
    again = SqliteRunTable(service.path)
    found = again.find("e-1")
    assert found is not None
    assert (found.state, found.outcome) == ("ended", LOST)
    for one in (table, again, service):
        one.close()
