"""How soon an abort is done: 500 aborts of runs that wait in a silent model call, per store and kind of consumer.

`python tests/bench/bench_abort.py [ABORTS]` prints JSON. The model is a chat-completions server in a process of its own
that says one word and falls silent. The clock starts right before `AbortSignal.set`; both processes read
the system's monotonic one. model_ended: the server has seen its client go. stored: the event that tells of the abort is
in the log. done: both. Consumers: idle, one that waits; busy,
one that stays 50 ms in `on_next`; spinning, one that computes there (so that Python's threads compete).
Exit code 1 when a limit is missed: medians of 5 ms in memory and 20 ms on SQLite, 50 ms for the 99th percentile; the
spinning consumer is told, and has no limit.
"""

from __future__ import annotations

import json
import multiprocessing
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from rxagent.agents import LlmAgent
from rxagent.events import Event
from rxagent.invocation import AbortSignal, RunConfig
from rxagent.models import ChatCompletions
from rxagent.runner import Runner
from rxagent.sessions import BaseSessionService, InMemorySessionService, SqliteSessionService
from rxagent.testing.chat_server import ChatServer, stall

ABORTS = 500
LIMITS = {"memory": 5.0, "sqlite": 20.0}
P99 = 50.0
BUSY = 0.05  # seconds in on_next


def serve(pipe: Connection) -> None:
    """The server's process: says its address, and when asked, when each of its clients has gone."""
    with ChatServer(lambda _: ["Once ", stall()]) as server:
        pipe.send(server.base_url)
        while pipe.recv() != "end":
            for received in server.requests:
                received.wait_gone()
            pipe.send([(received.json["messages"][-1]["content"], received.gone_at) for received in server.requests])


def idle() -> None: ...


def busy() -> None:
    time.sleep(BUSY)


def spinning() -> None:
    end = time.perf_counter() + BUSY
    while time.perf_counter() < end:
        pass


def abort_once(
    runner: Runner, stored: SimpleQueue[float], name: str, consume: Callable[[], None]
) -> tuple[float, float]:
    """One run, aborted as soon as its consumer is at work on the first word: when it was asked, and when stored."""
    at_work, over = threading.Event(), threading.Event()

    def on_next(event: Event) -> None:
        if event.partial:
            at_work.set()
            consume()

    signal = AbortSignal()
    stream = runner.run_async("me", name, name, RunConfig(streaming_mode="sse"), abort_signal=signal)
    stream.subscribe(on_next, on_completed=over.set)
    at_work.wait(10)
    time.sleep(0.002)  # the model is silent now
    began = time.monotonic()
    signal.set()
    end = stored.get(timeout=10)
    over.wait(10)
    return began, end


def figures(seconds: Iterable[float]) -> dict[str, Any]:
    """Median, 99th percentile and maximum, in milliseconds."""
    ordered = sorted(1000 * one for one in seconds)
    median, p99, most = (round(ordered[min(len(ordered) - 1, int(at * len(ordered)))], 3) for at in (0.5, 0.99, 1))
    return {"median": median, "p99": p99, "max": most, "unit": "ms", "n": len(ordered)}


def measure(
    store: str, service: BaseSessionService, model: ChatCompletions, aborts: int, gone: Callable[[], dict[str, float]]
) -> tuple[dict[str, Any], list[str]]:
    """All consumers on one store; the figures, and the limits that were missed."""
    stored: SimpleQueue[float] = SimpleQueue()
    plain: Any = service.append_events

    def append(session: Any, events: Any, **options: Any) -> Any:
        done = plain(session, events, **options)
        if any(event.error_code for event in events):
            stored.put(time.monotonic())
        return done

    service.append_events = append  # type: ignore[method-assign]
    results: dict[str, Any] = {}
    missed: list[str] = []
    runner = Runner(LlmAgent(name="agent", model=model), app_name="bench", session_service=service)
    for consume in (idle, busy, spinning):
        kind = f"{store}_{consume.__name__}"
        names = [f"{kind} {number}" for number in range(aborts if consume is not spinning else max(aborts // 5, 1))]
        took = {name: abort_once(runner, stored, name, consume) for name in names}
        seen = gone()
        ended = {name: seen[name] - began for name, (began, _) in took.items()}
        sealed = {name: end - began for name, (began, end) in took.items()}
        results[f"{kind}_model_ended"] = figures(ended.values())
        results[f"{kind}_stored"] = figures(sealed.values())
        results[f"{kind}_done"] = done = figures(max(ended[name], sealed[name]) for name in names)
        if consume is not spinning and (done["median"] > LIMITS[store] or done["p99"] > P99):
            missed.append(f"{store}, {consume.__name__} consumer: {done}")
    runner.close()
    return results, missed


def main(aborts: int = ABORTS) -> int:
    """Measure and print."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    model = ChatCompletions("any", base_url=ours.recv())

    def gone() -> dict[str, float]:
        ours.send("gone")
        seen: list[tuple[str, float]] = ours.recv()
        return dict(seen)

    with tempfile.TemporaryDirectory() as folder:
        file = SqliteSessionService(Path(folder) / "log.db")
        results, missed = measure("memory", InMemorySessionService(), model, aborts, gone)
        more, too = measure("sqlite", file, model, aborts, gone)
        file.close()
    ours.send("end")
    process.join(10)
    model.close()
    for one in missed + too:
        print(f"missed: {one}", file=sys.stderr)
    stand = f"{version('rxagent')}, Python {platform.python_version()}"
    print(json.dumps({"system": "rxagent", "version": stand, "results": results | more}, indent=2))
    return 1 if missed or too else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
