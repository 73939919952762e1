"""The keeper: turns stay alive, stop requests arrive, who waits is woken, and no thread stays for nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from rxagent.errors import SessionBusyError
from rxagent.sessions import (
    InMemorySessionService,
    Keeper,
    OpenRun,
    SessionKey,
    SqliteSessionService,
    StopRequest,
    current_owner,
    keeper_of,
)
from rxagent.streams import idle
from rxagent.streams.dropped import set_on_dropped_error

KEY = SessionKey("app", "me", "s1")
LONG = 10.0


def threads() -> int:
    """How many keepers are at work."""
    return sum(thread.name == "rxagent-keeper" for thread in threading.enumerate())


def ignore(*_: object) -> None:
    """Nobody is told."""


def failing(tries: SimpleQueue[bool]) -> Callable[[], bool]:
    """An attempt that tells of each try and never succeeds."""

    def attempt() -> bool:
        tries.put(True)
        return False

    return attempt


@pytest.fixture
def service(tmp_path: Path) -> Iterator[SqliteSessionService]:
    """A SQLite service, whose keeper is closed after the test."""
    service = SqliteSessionService(tmp_path / "s.db")
    yield service
    keeper_of(service).close()
    service.close()


def open_run(service: SqliteSessionService, run_id: str, lease: float = LONG) -> OpenRun:
    """A turn of this process."""
    return OpenRun(KEY, run_id, service.open_run(KEY, run_id, owner=current_owner("test"), lease=lease).epoch)


@pytest.mark.promise("J16", "processes")
def test_a_turn_is_kept_alive(service: SqliteSessionService) -> None:
    """A held run's lease is renewed, so that nobody else gets the turn, until it is released."""
    run = open_run(service, "r1", lease=0.0)
    renewed: SimpleQueue[bool] = SimpleQueue()

    def settle(answer: object) -> object:
        renewed.put(True)
        return answer

    keeper = Keeper(service, settle)
    release = keeper.hold(run, ignore, ignore)
    renewed.get(timeout=LONG)
    with pytest.raises(SessionBusyError):
        open_run(service, "r2")
    release()
    service.close_run(*run)
    open_run(service, "r2")
    keeper.close()


def test_a_stop_request_of_another_process_arrives(service: SqliteSessionService) -> None:
    """Within about half a second the run's callback gets the reason, on another thread."""
    run, reasons = open_run(service, "r1"), SimpleQueue[tuple[str, str]]()
    release = keeper_of(service).hold(
        run, lambda reason: reasons.put((reason, threading.current_thread().name)), ignore
    )
    other = SqliteSessionService(service.path)
    asked = time.monotonic()
    assert other.request_stop(KEY, None, "user_stop") is True
    reason, thread = reasons.get(timeout=LONG)
    assert reason == "user_stop"
    assert thread.startswith("rxagent-worker")
    assert time.monotonic() - asked < 5
    release()
    other.close()


@pytest.mark.promise("J17")
def test_a_lost_turn_is_told_once(service: SqliteSessionService) -> None:
    """A run whose turn another one has taken is told so."""
    run, lost = open_run(service, "r1", lease=0.0), SimpleQueue[bool]()
    second = open_run(service, "r2")
    keeper_of(service).hold(run, ignore, lambda: lost.put(True))
    assert lost.get(timeout=LONG) is True
    assert keeper_of(service).is_idle
    service.close_run(*second)


@pytest.mark.promise("J16", "processes")
def test_who_waits_gets_the_turn(service: SqliteSessionService) -> None:
    """An attempt is repeated on workers until it succeeds, soon after the turn was given back."""
    run, tries, done = open_run(service, "r1"), SimpleQueue[str](), threading.Event()
    other = SqliteSessionService(service.path)

    def attempt() -> bool:
        tries.put(threading.current_thread().name)
        try:
            open_run(other, "r2")
        except SessionBusyError:
            return False
        done.set()
        return True

    keeper_of(other).wait(attempt)
    assert tries.get(timeout=LONG).startswith("rxagent-worker")
    service.close_run(*run)
    assert done.wait(LONG)
    keeper_of(other).close()
    other.close()


def test_a_wait_can_be_given_up(service: SqliteSessionService) -> None:
    """After cancel no further attempt is made; the others go on."""
    keeper, first, second = keeper_of(service), SimpleQueue[bool](), SimpleQueue[bool]()
    cancel = keeper.wait(failing(first))
    keeper.wait(failing(second))
    first.get(timeout=LONG)
    cancel()
    while not first.empty():
        first.get()
    for _ in range(3):
        second.get(timeout=LONG)
    assert first.qsize() <= 1  # one may have been under way


def test_attempts_do_not_overlap(service: SqliteSessionService) -> None:
    """A slow attempt holds up its own next one, and no other waiter."""
    keeper, started, go_on = keeper_of(service), SimpleQueue[bool](), threading.Event()

    def slow() -> bool:
        started.put(True)
        return go_on.wait(LONG)

    others: SimpleQueue[bool] = SimpleQueue()
    keeper.wait(slow)
    started.get(timeout=LONG)
    keeper.wait(failing(others))
    for _ in range(3):
        others.get(timeout=LONG)
    assert started.empty()
    go_on.set()


def test_a_failing_attempt_is_the_last(service: SqliteSessionService) -> None:
    """What an attempt raises goes to on_dropped_error, and the wait is over."""
    dropped: SimpleQueue[BaseException] = SimpleQueue()
    set_on_dropped_error(lambda error, where: dropped.put(error))
    try:
        keeper_of(service).wait(lambda: bool(1 / 0))
        assert isinstance(dropped.get(timeout=LONG), ZeroDivisionError)
        with pytest.raises(Empty):
            dropped.get(timeout=0.5)
    finally:
        set_on_dropped_error(None)


def test_the_thread_ends_when_there_is_nothing_to_do(service: SqliteSessionService) -> None:
    """No run, no thread: it starts with the first, is one for all, and `idle.end_all` waits until it is gone."""
    keeper = keeper_of(service)
    assert threads() == 0
    releases = [keeper.hold(open_run(service, "r1"), ignore, ignore), keeper.wait(lambda: False)]
    assert threads() == 1
    idle.end_all()
    assert threads() == 1
    for release in releases:
        release()
    idle.end_all()
    assert threads() == 0


def test_a_service_has_one_keeper(service: SqliteSessionService) -> None:
    """All runners of a service get the same keeper."""
    assert keeper_of(service) is keeper_of(service)


def test_in_memory_needs_no_thread() -> None:
    """A service that is not shared hands a stop request on at once, without a keeper's thread."""
    service, reasons = InMemorySessionService(), list[str]()
    run = OpenRun(KEY, "r1", service.open_run(KEY, "r1", owner=current_owner("x"), lease=LONG).epoch)
    assert service.request_stop(KEY, None, "early") is True
    release = keeper_of(service).hold(run, reasons.append, ignore)
    assert service.request_stop(KEY, "r1", "user_stop") is True
    assert reasons == ["early", "user_stop"]
    release()
    service.request_stop(KEY, "r1", "late")
    assert reasons == ["early", "user_stop"]
    assert service.renew([run], lease=LONG) == [StopRequest(KEY, "r1", "late")]
    assert threads() == 0


def test_a_failing_renewal_is_tried_again(service: SqliteSessionService, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the store goes to on_dropped_error; the next look works again."""
    run, reasons, dropped = open_run(service, "r1"), SimpleQueue[str](), SimpleQueue[BaseException]()
    true, calls = SqliteSessionService.renew, list[bool]()

    def renew(self: SqliteSessionService, runs: Sequence[OpenRun], *, lease: float) -> list[StopRequest]:
        calls.append(True)
        if len(calls) == 1:
            raise OSError("gone for a moment")
        return true(self, runs, lease=lease)

    monkeypatch.setattr(SqliteSessionService, "renew", renew)
    set_on_dropped_error(lambda error, where: dropped.put(error))
    try:
        service.request_stop(KEY, "r1", "stop")
        keeper_of(service).hold(run, reasons.put, ignore)
        assert isinstance(dropped.get(timeout=LONG), OSError)
        assert reasons.get(timeout=LONG) == "stop"
    finally:
        set_on_dropped_error(None)
