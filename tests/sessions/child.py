"""Other processes for the tests: `python child.py <what> <file> ...`; each says "ready" and does as it is told."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

from rxagent.errors import StaleSessionError
from rxagent.events import Content, Event
from rxagent.sessions import GetSessionConfig, SessionKey, SqliteSessionService, current_owner

KEY = SessionKey("app", "me", "s1")


def _ready() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def append(path: str, name: str, count: str) -> None:
    """Append `count` events at the end, knowing nothing of the others."""
    service = SqliteSessionService(path)
    session = service.get_session(*KEY)
    assert session is not None
    _ready()
    for number in range(int(count)):
        service.append_event(session, _said(f"{name}{number}"))
    print(json.dumps({"stale": 0}))


def append_expected(path: str, name: str, count: str) -> None:
    """Append `count` events, each right behind the last one known; who is too late reads again and retries."""
    service = SqliteSessionService(path)
    _ready()
    stale = 0
    for number in range(int(count)):
        while True:
            session = service.get_session(*KEY, GetSessionConfig(num_recent_events=0))
            assert session is not None
            try:
                service.append_event(session, _said(f"{name}{number}"), expected_seq=session.last_seq)
                break
            except StaleSessionError:
                stale += 1
    print(json.dumps({"stale": stale}))


def append_until_killed(path: str) -> None:
    """Append batches of three for ever; tell the number of each once it is stored."""
    service = SqliteSessionService(path)
    session = service.get_session(*KEY)
    assert session is not None
    _ready()
    while True:
        stored = service.append_events(session, [_said("x" * 5000) for _ in range(3)])
        print(stored[-1].seq, flush=True)


def hold(path: str) -> None:
    """Take the turn and keep it until killed."""
    service = SqliteSessionService(path)
    ticket = service.open_run(KEY, "held", owner=current_owner("child"), lease=60.0)
    print(ticket.epoch, flush=True)
    sys.stdin.readline()


def read(path: str) -> None:
    """Print the session as this process finds it."""
    session = SqliteSessionService(path).get_session(*KEY)
    assert session is not None
    events = [[event.seq, event.model_dump(mode="json", by_alias=True)] for event in session.events]
    print(json.dumps({"state": session.state, "events": events, "last_seq": session.last_seq}))


def fork(path: str) -> None:
    """Fork while threads append; parent and child then append through the same service object."""
    import threading

    service = SqliteSessionService(path)
    session = service.get_session(*KEY)
    assert session is not None
    service.append_event(session, _said("before"))
    stop = threading.Event()

    def work() -> None:
        mine = service.get_session(*KEY, GetSessionConfig(num_recent_events=0))
        assert mine is not None
        while not stop.is_set():
            service.append_event(mine, _said("thread"))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    children = []
    for _ in range(10):
        pid = os.fork()
        if pid == 0:
            for _ in range(5):
                service.append_event(session, _said("child"))
            assert service.get_session(*KEY) is not None
            service.close()
            os._exit(0)
        children.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    stop.set()
    for thread in threads:
        thread.join()
    found = service.get_session(*KEY)
    assert found is not None
    seqs = [event.seq for event in found.events]
    children_events = sum(event.text == "child" for event in found.events)
    print(json.dumps({"codes": codes, "contiguous": seqs == list(range(1, len(seqs) + 1)), "child": children_events}))


def _said(text: str) -> Event:
    return Event(author="user", content=Content.user(text))


if __name__ == "__main__":
    commands: dict[str, Callable[..., None]] = {
        one.__name__: one for one in (append, append_expected, append_until_killed, hold, read, fork)
    }
    commands[sys.argv[1]](*sys.argv[2:])
