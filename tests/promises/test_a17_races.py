"""Aborts that race each other, the end of the run, its appends and its seal: one outcome, a valid log."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rxagent.events.pairing import open_calls
from rxagent.invocation import AbortSignal
from rxagent.runner import Runner
from rxagent.sessions import BaseSessionService, InMemorySessionService, SqliteSessionService
from rxagent.streams.workers import workers
from rxagent.testing.invariants import log_faults, request_faults
from rxagent.testing.scripted_model import ScriptedModel, call, pause
from tests.runner.driving import SSE, USER, Consumer, Ends, log, runner_of, said

from .stopping import ABORTED

KINDS = ["two aborts", "abort and the end", "abort in an append", "abort while sealing", "abort and dispose"]


def work(number: int) -> int:
    """Work."""
    return number


class Race:
    """One run, stopped from several threads at random moments. what: which moments."""

    def __init__(self, seed: int, service: BaseSessionService) -> None:
        self.chance = random.Random(seed)
        self.kind = KINDS[seed % len(KINDS)]
        self.ends, self.signal, self.session = Ends(), AbortSignal(), f"s{seed}"
        model = ScriptedModel([call("work", number=1), call("work", number=2)], ["Done."])
        self.runner: Runner = runner_of(model, tools=[work], service=service, plugins=[self.ends])
        self.consumer = Consumer()

    def run(self) -> str:
        """Run it, look at everything; the outcome's kind."""
        with self._watched():
            self.consumer.of(self.runner.run_async(USER, self.session, "Hi", abort_signal=self.signal))
            outcome = self.ends.next()
        if outcome.kind != "disposed" and self.kind != "abort and dispose":
            self.consumer.wait()
            assert self.consumer.ends == ["completed"], self.consumer.error
        self._check(outcome.kind)
        return f"{self.kind}: {outcome.kind}"

    def _acts(self) -> list[Callable[[], object]]:
        """What threads of their own do from the chosen append on."""
        acts: dict[str, list[Callable[[], object]]] = {
            "two aborts": [partial(self.signal.set, "one"), partial(self.signal.set, "two")],
            "abort and the end": [self.signal.set],
            "abort and dispose": [self.signal.set, self.consumer.dispose],
        }
        return acts.get(self.kind, [])

    def _aside(self, act: Callable[[], object]) -> None:
        delay = self.chance.choice([0, 0, self.chance.random() * 5e-4])

        def later() -> None:
            time.sleep(delay)  # not a synchronisation: the chance of the race
            act()

        workers.spawn(later)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Act at the begin of the n-th append, or at the end of it; when sealing, once more in the tail's append."""
        service: Any = self.runner.session_service
        plain, at, before = service.append_events, self.chance.randrange(4), self.chance.random() < 0.5
        if self.kind == "abort and the end":
            at = self.chance.choice([2, 3])
        count = 0

        def append(session: Any, events: Any, **options: Any) -> Any:
            nonlocal count
            own = session.id == self.session
            mine, count = own and count == at, count + own
            if mine and before:
                act()
            if own and self.kind == "abort while sealing" and any(event.error_code == ABORTED for event in events):
                self.signal.set("sealing")
                self.runner.session_service.request_stop(session.key, None, "once more")
            if self._acts():
                time.sleep(self.chance.choice([0, 1e-5, 1e-4]))  # lets the others in
            stored = plain(session, events, **options)
            if mine and not before:
                act()
            return stored

        def act() -> None:
            if self.kind in ("abort in an append", "abort while sealing"):
                self.signal.set("in the append")
            for one in self._acts():
                self._aside(one)

        service.append_events = append
        try:
            yield
        finally:
            service.append_events = plain

    def _check(self, kind: str) -> None:
        events = log(self.runner, self.session)
        told = [event for event in events if event.error_code == ABORTED]
        assert list(log_faults(events)) == [], said(events)
        assert len(self.ends.outcomes) == 1
        assert len(told) == (1 if kind == "aborted" and events else 0), (kind, said(events))
        if told:
            assert events[-1] is told[0] or events[-1].id == told[0].id
        if kind != "disposed":
            assert [str(one) for one in open_calls(events)] == []
        if self.kind != "abort and dispose":
            assert [event.id for event in events[1:]] == [event.id for event in self.consumer.events]
        model = ScriptedModel(["Back."])
        self.runner.agent.model = model  # type: ignore[attr-defined]
        assert said(self.runner.run(USER, self.session, "Go on")) == ["agent: Back."]
        assert list(request_faults(model.requests[0].contents)) == []
        assert list(log_faults(log(self.runner, self.session))) == []


def raced(seeds: range, service: BaseSessionService) -> None:
    """Races of each kind. Some come in time and some come too late, else nothing was raced."""
    seen = Counter(Race(seed, service).run() for seed in seeds)
    assert sum(seen.values()) == len(seeds)
    assert {kind for kind in KINDS if seen[f"{kind}: aborted"]} == set(KINDS), seen
    assert {kind for kind in KINDS[:2] if seen[f"{kind}: completed"]} == set(KINDS[:2]), seen
    assert seen["abort and dispose: disposed"], seen


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads change over as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.promise("A17")
@pytest.mark.promise("A12")
def test_a_thousand_races() -> None:
    """1,000 random races in memory, each with exactly one outcome and a valid log that takes the next turn."""
    raced(range(1000), InMemorySessionService())


@pytest.mark.promise("A17")
def test_a_thousand_races_in_haste(hasty: None) -> None:
    """The same with threads that change over every microsecond."""
    raced(range(1000, 2000), InMemorySessionService())


@pytest.mark.promise("A17")
def test_races_on_a_file(tmp_path: Path, hasty: None) -> None:
    """The same on SQLite, a hundred times."""
    service = SqliteSessionService(tmp_path / "log.db")
    raced(range(2000, 2100), service)
    service.close()


@pytest.mark.promise("A17")
def test_many_threads_abort_at_once() -> None:
    """Eight threads abort one run with eight reasons at once: one of them stands in the outcome, and in the log."""
    for seed in range(50):
        start = threading.Barrier(9)
        runner = runner_of([["Once ", pause(60)]])
        run = runner.start(USER, f"s{seed}", "Hi", SSE)
        assert next(iter(run)).partial  # all of them come while the model speaks

        def stop(number: int, start: threading.Barrier = start, run: Any = run) -> None:
            start.wait(5)
            run.abort(f"reason {number}")

        threads = [threading.Thread(target=stop, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        start.wait(5)
        for thread in threads:
            thread.join()
        outcome = run.wait(5)
        assert outcome is not None
        assert (outcome.kind, outcome.reason in [f"reason {number}" for number in range(8)]) == ("aborted", True)
        told = [event.error_message for event in log(runner, f"s{seed}") if event.error_code == ABORTED]
        assert told == [f"The run was aborted: {outcome.reason}"]
