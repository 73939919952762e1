"""Figures of the HTTP server, each over real sockets to a server in a process of its own.

    python tests/bench/bench_serve.py [disconnects]

Prints JSON. disconnect_to_stopped: from the client's shutdown of its socket to the moment when the model's server saw
its connection go; every other run is silent, no byte of it was ever written. sleep_of_1_ms_took_longer_by: what a busy
machine adds to one wait, at the same time; there are about four in a row. health_while_blocked: GET /health while
ten blocking tools run. streams_*: 200 readers at once, 1,000 partial events each. absent_reader: how far the server's
memory grows while a run emits 10,000 events of a kilobyte to a reader that does not read, beyond the same run with a
reader that does. late_reader: how far it grows while somebody reads a run of 100,000 stored events from its beginning,
slowly at first. killed: events that a reader had seen before a kill -9 and that were missing after the restart.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from rxagent.events import Content, Event
from rxagent.serve.run_table_sqlite import SqliteRunTable
from rxagent.sessions import SessionKey, SqliteSessionService
from rxagent.testing.chat_server import ChatServer, TurnLike, pause, stall
from tests.serve.served import Client, child, eventually, order

AGENTS = Path(__file__).with_name("serve_agents.py")
APP = "rxagent"
READERS = 200
LATE_EVENTS = 100_000
KILLS = 5


def figures(values: list[float], unit: str) -> dict[str, Any]:
    """Median, 99th percentile and maximum."""
    ordered = sorted(values)
    at = [round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3) for share in (0.5, 0.99, 1)]
    return {"median": at[0], "p99": at[1], "max": at[2], "unit": unit, "count": len(values)}


def request(session: str, **more: Any) -> dict[str, Any]:
    return {**order("Hi", session), "appName": APP, **more}


def disconnects(count: int, folder: Path) -> dict[str, Any]:
    """Clients that go, one after the other."""
    slow = [piece for _ in range(200) for piece in ("word ", pause(0.01))]
    noise: list[float] = []
    delays: dict[str, list[float]] = {"silent": [], "streaming": []}
    turns: Iterator[TurnLike] = itertools.cycle(([stall()], [*slow, stall()]))
    with ChatServer(lambda _: next(turns)) as model:
        os.environ["BENCH_MODEL"] = model.base_url
        with child(AGENTS, "--db", str(folder / "d.db"), agent="remote") as server:
            for number in range(1, count + 1):
                server.create(f"s{number}", app=APP)
                stream = server.open("POST", "/run_sse", request(f"s{number}", streaming=True))
                received = model.wait_requests(number)[-1]
                time.sleep(random.uniform(0.01, 0.04))
                began = time.perf_counter()
                time.sleep(0.001)
                noise.append((time.perf_counter() - began - 0.001) * 1e3)
                gone = stream.drop()
                seen = eventually(lambda received=received: received.gone_at)  # type: ignore[misc]
                delays["silent" if number % 2 else "streaming"].append((seen - gone) * 1e3)
                outcome = server.ended(stream.run_id)["outcome"]
                assert outcome["reason"] == "client_disconnect", outcome
    return {
        "disconnect_to_stopped": figures(delays["silent"] + delays["streaming"], "ms"),
        "disconnect_to_stopped_silent": figures(delays["silent"], "ms"),
        "sleep_of_1_ms_took_longer_by": figures(noise, "ms"),
    }


def health(folder: Path) -> dict[str, Any]:
    """Ten tools that block for three seconds, and GET /health every 50 ms."""
    with child(AGENTS, "--db", str(folder / "h.db"), agent="blocking") as server:
        streams = []
        for number in range(10):
            server.create(f"s{number}", app=APP)
            stream = server.open("POST", "/run_sse", request(f"s{number}"))
            next(stream.events())
            streams.append(stream)
        took = []
        for _ in range(40):
            began = time.perf_counter()
            server.get("/health")
            took.append((time.perf_counter() - began) * 1e3)
            time.sleep(0.05)
        running = [run for run in server.get("/runs") if run["state"] == "running"]
        assert len(running) == 10, "the tools ended too early"
        for stream in streams:
            stream.close()
    return {"health_while_blocked": figures(took, "ms")}


async def read(server: Client, session: str) -> tuple[int, bool, int]:
    """Stored events, whether the outcome came, and partial events of one reader."""
    reader, writer = await asyncio.open_connection(server.host, server.port, limit=1 << 20)
    body = json.dumps(request(session, streaming=True)).encode()
    head = f"POST /run_sse HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    data = await reader.read(-1)
    writer.close()
    return data.count(b"\nid: "), b"event: outcome\n" in data, data.count(b'"partial":true')


def streams(folder: Path) -> dict[str, Any]:
    """Two hundred readers at once."""
    with child(AGENTS, "--db", str(folder / "s.db"), agent="partials") as server:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: server.create(f"s{number}", app=APP), range(READERS)))

        async def all_of_them() -> list[tuple[int, bool, int]]:
            return await asyncio.gather(*(read(server, f"s{number}") for number in range(READERS)))

        began = time.perf_counter()
        found = asyncio.run(all_of_them())
        took = time.perf_counter() - began
        stored = sum(len(server.session(f"s{number}", app=APP)["events"]) - 1 for number in range(READERS))
    got = sum(one[0] for one in found)
    return {
        "streams_lost_final_events": {"median": stored - got, "unit": "events", "count": stored},
        "streams_without_outcome": {"median": sum(not one[1] for one in found), "unit": "streams", "count": READERS},
        "streams_partials_delivered": {"median": sum(one[2] for one in found), "unit": "events"},
        "streams_took": {"median": round(took, 2), "unit": "s"},
    }


def resident(server: Client) -> float:
    """MiB that the server's process has in memory."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def growth(folder: Path, *, reads: bool) -> float:
    """MiB by which the server grows during the run, at the most."""
    with child(AGENTS, "--db", str(folder / f"m{reads}.db"), agent="many") as server:
        server.create(app=APP)
        before = most = resident(server)
        with server.open("POST", "/run_sse", request("s1"), timeout=120) as stream:
            with ThreadPoolExecutor(1) as pool:
                reading = pool.submit(lambda: sum(1 for _ in stream)) if reads else None
                while server.get(f"/runs/{stream.run_id}")["state"] != "ended":
                    most = max(most, resident(server))
                    time.sleep(0.02)
                if reading is not None:
                    assert reading.result() > 10_000
            assert len(server.session(app=APP)["events"]) > 10_000
            return most - before


def memory(folder: Path) -> dict[str, Any]:
    """A reader that reads, and one that does not."""
    present, absent = growth(folder, reads=True), growth(folder, reads=False)
    return {
        "absent_reader": {"median": round(absent - present, 2), "unit": "MiB"},
        "absent_reader_whole_run": {"median": round(absent, 2), "unit": "MiB"},
        "present_reader_whole_run": {"median": round(present, 2), "unit": "MiB"},
    }


def late(folder: Path) -> dict[str, Any]:
    """A run of another process, long ended, read again from its beginning; the reader lets it wait for two seconds."""
    path, run_id, key = folder / "late.db", "e-late", SessionKey(APP, "me", "s1")
    with closing(SqliteSessionService(path)) as service, closing(SqliteRunTable(service.path)) as table:
        session = service.create_session(*key[:2], session_id=key.session_id)
        ticket = table.reserve(key)
        table.enter(ticket, run_id)
        for _ in range(LATE_EVENTS // 1000):
            text = Content.model("x" * 200)
            events = [Event(invocation_id=run_id, author="a", content=text) for _ in range(1000)]
            service.append_events(session, events)
        table.end(run_id, {"kind": "completed"}, LATE_EVENTS)
    with child(AGENTS, "--db", str(path), agent="steps") as server:
        server.get("/health")
        before = most = resident(server)
        began = time.perf_counter()
        with server.open("GET", f"/runs/{run_id}/events", timeout=120) as stream, ThreadPoolExecutor(1) as pool:
            first = next(stream.events()).id
            took_first = time.perf_counter() - began
            for _ in range(40):
                most = max(most, resident(server))
                time.sleep(0.05)
            reading = pool.submit(lambda: [int(frame.id) for frame in stream if frame.id is not None])
            while not reading.done():
                most = max(most, resident(server))
                time.sleep(0.02)
            assert [int(first or 0), *reading.result()] == list(range(1, LATE_EVENTS + 1))
        took = time.perf_counter() - began
    return {
        "late_reader": {"median": round(most - before, 2), "unit": "MiB", "count": LATE_EVENTS},
        "late_reader_first_event": {"median": round(took_first, 3), "unit": "s"},
        "late_reader_took": {"median": round(took, 2), "unit": "s"},
    }


def kills(folder: Path) -> dict[str, Any]:
    """A server that is killed in the middle of a run, and started again."""
    missing, seen_in_all, restarts = 0, 0, []
    for number in range(KILLS):
        db = str(folder / f"k{number}.db")
        with child(AGENTS, "--db", db, agent="steps") as server:
            server.create(app=APP)
            with server.open("POST", "/run_sse", request("s1")) as stream:
                events = stream.events()
                seen = [next(events).data["id"] for _ in range(50 + 20 * number)]
                assert server.pid is not None
                os.kill(server.pid, signal.SIGKILL)
        began = time.perf_counter()
        with child(AGENTS, "--db", db, agent="steps") as again:
            stored = {event["id"] for event in again.session(app=APP)["events"]}
            with again.open("POST", "/run_sse", request("s1")) as stream:
                next(stream.events())
                restarts.append(time.perf_counter() - began)
        missing += len(set(seen) - stored)
        seen_in_all += len(seen)
    return {
        "killed_missing_events": {"median": missing, "unit": "events", "count": seen_in_all},
        "killed_to_next_answer": figures(restarts, "s"),
    }


def main(count: int = 200) -> None:
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results |= disconnects(count, folder)
        for part in (health, streams, memory, late, kills):
            results |= part(folder)
    print(json.dumps({"system": "rxagent", "version": version("rxagent"), "results": results}, indent=2))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
