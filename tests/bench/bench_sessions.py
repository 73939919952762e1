"""Cost of the SQLite log: an append in a short and in a long log, the tail of a long one, a turn's bookkeeping.

`python tests/bench/bench_sessions.py [folder]` prints JSON; medians, and the CPU of this process beside them.
Give a folder on the disk that is meant: /tmp may be memory, where a sync costs nothing.
"""

from __future__ import annotations

import json
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from rxagent.events import Content, Event
from rxagent.sessions import (
    BaseSessionService,
    GetSessionConfig,
    InMemorySessionService,
    Session,
    SessionKey,
    SqliteSessionService,
    current_owner,
)
from rxagent.sessions.encoding import event_text
from rxagent.sessions.sqlite_log import add_events, session_row

SHORT, LONG = 1_000, 1_000_000
ROUNDS = 1000
Results: TypeAlias = dict[str, dict[str, object]]


def said(text: str) -> Event:
    """An event of ordinary size."""
    return Event(invocation_id="i1", author="agent", content=Content.model(text))


def fill(service: SqliteSessionService, key: SessionKey, count: int) -> None:
    """A log of `count` events, written in one transaction; events of an ordinary size, all alike."""
    service.create_session(*key[:2], session_id=key.session_id)
    event = said("The quick brown fox jumps over the lazy dog. " * 5)
    bodies: Iterator[tuple[int, str]] = iter([(event.timestamp, event_text(event))] * count)

    def write(db: sqlite3.Connection) -> None:
        while batch := list(islice(bodies, 10_000)):
            row = session_row(db, key)
            assert row is not None
            add_events(db, row, batch)

    service._file.write(write)


def measured(act: Callable[[], object], rounds: int = ROUNDS) -> dict[str, object]:
    """Median wall time and mean CPU of an act, after a few to warm up."""
    for _ in range(20):
        act()
    walls = []
    cpu = time.process_time()
    for _ in range(rounds):
        start = time.perf_counter()
        act()
        walls.append(time.perf_counter() - start)
    cpu = time.process_time() - cpu
    return {
        "median": round(statistics.median(walls) * 1000, 4),
        "unit": "ms",
        "cpu_median": round(cpu / rounds * 1000, 4),
    }


def appends_in_turn(services: list[tuple[str, BaseSessionService, Session]]) -> Results:
    """Appends to several logs by turns, so that a busy disk is equally busy for each."""
    walls: dict[str, list[float]] = {name: [] for name, _, _ in services}
    cpus: dict[str, list[float]] = {name: [] for name, _, _ in services}
    for number in range(ROUNDS + 20):
        for name, service, session in services if number % 2 else reversed(services):
            event = said(f"This is answer number {number}, of an ordinary length. " * 4)
            cpu, start = time.process_time(), time.perf_counter()
            service.append_event(session, event, expected_seq=session.last_seq)
            if number >= 20:
                walls[name].append(time.perf_counter() - start)
                cpus[name].append(time.process_time() - cpu)
    return {
        name: {
            "median": round(statistics.median(walls[name]) * 1000, 4),
            "unit": "ms",
            "cpu_median": round(statistics.median(cpus[name]) * 1000, 4),
        }
        for name in walls
    }


def end_of(service: SqliteSessionService, key: SessionKey) -> Session:
    """The session, without its events."""
    session = service.get_session(*key, GetSessionConfig(num_recent_events=0))
    assert session is not None
    return session


def turn(service: SqliteSessionService, key: SessionKey) -> None:
    """Open and close a turn: what a run costs besides its events."""
    ticket = service.open_run(key, "r1", owner=current_owner("bench"), lease=10.0)
    service.close_run(key, "r1", ticket.epoch)


def main(folder: Path) -> Results:
    """All figures."""
    short_key, long_key = SessionKey("app", "me", "short"), SessionKey("app", "me", "long")
    short, long = SqliteSessionService(folder / "short.db"), SqliteSessionService(folder / "long.db")
    fill(short, short_key, SHORT)
    start = time.perf_counter()
    fill(long, long_key, LONG)
    filled = time.perf_counter() - start
    memory = InMemorySessionService()
    results = appends_in_turn(
        [
            ("append at 10^3 events", short, end_of(short, short_key)),
            ("append at 10^6 events", long, end_of(long, long_key)),
            ("append in memory", memory, memory.create_session("app", "me")),
        ]
    )
    by = {name: result["median"] for name, result in results.items()}
    results["append 10^6 : 10^3"] = {
        "median": round(by["append at 10^6 events"] / by["append at 10^3 events"], 3),  # type: ignore[operator]
        "unit": "ratio",
    }
    last_50 = GetSessionConfig(num_recent_events=50)

    def cold() -> object:
        long._cache.forget(1)
        return long.get_session(*long_key, last_50)

    results["last 50 of 10^6, parsed anew"] = measured(cold)
    results["last 50 of 10^6, known"] = measured(lambda: long.get_session(*long_key, last_50))
    session = end_of(short, short_key)

    def follow() -> object:
        short.append_event(session, said("next"))
        return short.get_session(*short_key)

    results["append, then read all of 10^3"] = measured(follow)
    results["open and close a turn"] = measured(lambda: turn(short, short_key))
    results["bulk write of 10^6"] = {"median": round(filled, 2), "unit": "s"}
    results["file of 10^6"] = {"median": round((folder / "long.db").stat().st_size / 1e6, 1), "unit": "MB"}
    short.close()
    long.close()
    return results


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as folder:
        figures = main(Path(folder))
    system = f"rxagent sessions, SQLite {sqlite3.sqlite_version}, Python {platform.python_version()}"
    print(json.dumps({"system": system, "version": version("rxagent"), "results": figures}, indent=2))
