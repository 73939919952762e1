"""Several processes on one session file, some of them killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from rxagent.events import Content, Event, EventActions
from rxagent.sessions import SessionKey, SqliteSessionService, current_owner, is_gone

KEY = SessionKey("app", "me", "s1")
CHILD = Path(__file__).with_name("child.py")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[SqliteSessionService]:
    """A file with one empty session."""
    service = SqliteSessionService(tmp_path / "s.db")
    service.create_session(*KEY[:2], session_id=KEY.session_id)
    yield service
    service.close()


@contextmanager
def child(what: str, *args: object) -> Iterator[subprocess.Popen[str]]:
    """A process of child.py with pipes; killed at the end when it is still there."""
    command = [sys.executable, str(CHILD), what, *map(str, args)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as it:
        try:
            yield it
        finally:
            if it.poll() is None:
                it.kill()


def line(process: subprocess.Popen[str]) -> str:
    """Its next line."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    """Let it go on."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def answer(process: subprocess.Popen[str]) -> Any:
    """What it prints at its end; it must end well."""
    out, errors = process.communicate("\n", timeout=100)
    assert process.returncode == 0, errors
    return json.loads(out.splitlines()[-1])


def four(what: str, path: str) -> list[Any]:
    """The answers of four processes that start together."""
    with ExitStack() as stack:
        everyone = [stack.enter_context(child(what, path, name, 25)) for name in "abcd"]
        assert [line(one) for one in everyone] == ["ready"] * 4
        for one in everyone:
            tell(one)
        return [answer(one) for one in everyone]


def numbers(service: SqliteSessionService) -> list[int | None]:
    """The sequence numbers of the stored events."""
    session = service.get_session(*KEY)
    assert session is not None
    return [event.seq for event in session.events]


@pytest.mark.promise("J9")
@pytest.mark.parametrize("what", ["append", "append_expected"])
def test_four_processes_append_to_one_session(service: SqliteSessionService, what: str) -> None:
    """Numbers are contiguous, no event is lost, a loser meets StaleSessionError and nobody "database is locked"."""
    answers = four(what, service.path)
    assert numbers(service) == list(range(1, 101))
    session = service.get_session(*KEY)
    assert session is not None
    for name in "abcd":
        assert [event.text for event in session.events if event.text[0] == name] == [f"{name}{n}" for n in range(25)]
    if what == "append":
        assert answers == [{"stale": 0}] * 4


@pytest.mark.promise("J9")
def test_killed_in_mid_append(service: SqliteSessionService) -> None:
    """After kill -9 the file opens again: what was acknowledged is there, batches are whole, and appends go on."""
    for _ in range(3):
        with child("append_until_killed", service.path) as it:
            assert line(it) == "ready"
            tell(it)
            for _ in range(10):
                acknowledged = int(line(it))
            os.kill(it.pid, signal.SIGKILL)
        found = numbers(service)
        assert len(found) >= acknowledged
        assert found == list(range(1, len(found) + 1))
        assert len(found) % 3 == 0
    session = service.get_session(*KEY)
    assert session is not None
    assert service.append_event(session, Event(author="user")).seq == len(found) + 1


@pytest.mark.promise("J16", "processes")
@pytest.mark.promise("J17")
def test_the_turn_of_a_killed_process_is_free_at_once(service: SqliteSessionService) -> None:
    """After kill -9 of the owner, though its lease has a minute left, the next run has the turn within a second."""
    with child("hold", service.path) as it:
        epoch = int(line(it))
        os.kill(it.pid, signal.SIGKILL)
        killed = time.monotonic()
        it.wait(10)
        ticket = service.open_run(KEY, "next", owner=current_owner("test"), lease=10.0)
        assert time.monotonic() - killed < 1.0
    assert ticket.epoch == epoch + 1


@pytest.mark.promise("J15")
def test_another_process_reads_the_same(service: SqliteSessionService) -> None:
    """A second process finds the events, their numbers and the state exactly as this one has them."""
    session = service.get_session(*KEY)
    assert session is not None
    delta = {"k": None, "app:a": [1], "user:u": "ü", "temp:t": 1}
    service.append_events(
        session,
        [
            Event(author="user", content=Content.user("Hi 🙂")),
            Event(author="a", actions=EventActions(state_delta=delta)),
        ],
    )
    with child("read", service.path) as it:
        found = answer(it)
    assert found["state"] == {"k": None, "app:a": [1], "user:u": "ü"} == session.state
    assert found["events"] == [[event.seq, event.model_dump(mode="json", by_alias=True)] for event in session.events]


def test_forks_share_nothing_but_the_file(service: SqliteSessionService) -> None:
    """Children forked while threads append go on with the same service object; no event is lost, nobody hangs."""
    with child("fork", service.path) as it:
        found = answer(it)
    assert found == {"codes": [0] * 10, "contiguous": True, "child": 50}


def test_a_process_that_has_ended_is_gone() -> None:
    """An owner is alive while its process runs, gone after it, and gone too when its pid belongs to a later process."""
    me = current_owner("x")
    if not me.boot_id:
        pytest.skip("needs /proc")
    assert is_gone(me) is False
    assert is_gone(me._replace(started=me.started - 1)) is True
    assert is_gone(me._replace(boot_id="other")) is None
    assert is_gone(me._replace(pid_namespace="other")) is None
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        stat = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        other = me._replace(pid=process.pid, started=int(stat[19]))
        assert is_gone(other) is False
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie now
        assert is_gone(other) is True
    assert is_gone(other) is True
