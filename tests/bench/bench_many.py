"""Many runs at once in one process: memory, throughput, and how soon a worker is free after a dispose.

    python tests/bench/bench_many.py [repeats]

mem_concurrent_run: resident memory per run, 1,000 runs waiting in a scripted model; .http: over HTTP, in the first
chunk of an answer from a server in another process. throughput_N: runs in a second when N are under way at a time,
each with a tool call. cancel_idle_model: from `dispose()` to the end of the run, whose last work is its worker.
Each figure comes from a process of its own. Prints JSON.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import logging
import multiprocessing
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rxagent import Content, LlmAgent, Runner
from rxagent.models import BaseLlm, ChatCompletions, LlmRequest, LlmResponse
from rxagent.testing import ScriptedModel, call

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.measuring import figure, timed
from tests.bench.standard import Fake

RUNS = 1000
LIMIT = 60.0
CHUNK = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":null}]}\n\n'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def runner(model: BaseLlm) -> Runner:
    return Runner(LlmAgent(name="root", model=model, instruction="You help.", tools=[add]), app_name="app")


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def held(target: Runner, arrived: SimpleQueue[bool]) -> dict[str, float]:
    """KiB per waiting run, the seconds until all wait, and until all are out after their dispose."""
    for index in range(RUNS + 10):
        target.session_service.create_session("app", "u", session_id=f"s{index}")
    warm = [target.start("u", f"s{RUNS + index}", "hi") for index in range(10)]
    for _ in warm:
        arrived.get(timeout=LIMIT)
    gc.collect()
    before, begun = resident(), time.perf_counter()
    handles = [target.start("u", f"s{index}", "hi") for index in range(RUNS)]
    for _ in handles:
        arrived.get(timeout=LIMIT)
    up = time.perf_counter() - begun
    gc.collect()
    kib = (resident() - before) / RUNS / 1024
    begun = time.perf_counter()
    for handle in [*handles, *warm]:
        handle.dispose()
    for handle in [*handles, *warm]:
        assert handle.wait(LIMIT) is not None
    return {"kib": kib, "up": up, "out": time.perf_counter() - begun}


def scripted() -> dict[str, float]:
    arrived: SimpleQueue[bool] = SimpleQueue()
    model = ScriptedModel([lambda _: arrived.put(True), lambda scope: scope.sleep(LIMIT)], repeat_last=True)
    return held(runner(model), arrived)


def serve(pipe: Connection) -> None:
    """The server's process: answers each call with one chunk, says so, and is silent."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + CHUNK)
        await writer.drain()
        pipe.send(True)
        while await reader.read(65536):
            pass
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=RUNS)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(main())


def over_http() -> dict[str, float]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    port = ours.recv()
    arrived: SimpleQueue[bool] = SimpleQueue()

    def tell() -> None:
        with suppress(EOFError):
            while True:
                arrived.put(ours.recv())

    threading.Thread(target=tell, daemon=True).start()
    try:
        return held(runner(ChatCompletions("m", f"http://127.0.0.1:{port}/v1", "key", pool_size=RUNS + 10)), arrived)
    finally:
        server.kill()


def one_call(request: LlmRequest) -> Iterator[LlmResponse]:
    """Ask for the tool, then answer."""
    parts = request.contents[-1].parts or ()
    if any(part.function_response is not None for part in parts):
        yield LlmResponse(content=Content.model("Three."))
    else:
        yield LlmResponse(content=Content(role="model", parts=(call("add", a=1, b=2),)))


def throughput(abreast: int) -> tuple[float, float]:
    """Runs in a second, and CPU per run: as many chains of runs as are to be abreast, 3,000 runs in all."""
    target, total = runner(Fake(one_call)), 3 * RUNS
    numbers = itertools.count()  # next() of it is atomic
    ended = threading.Semaphore(0)

    def next_run() -> None:
        if (number := next(numbers)) < total:
            target.run_async("u", f"s{number}", "hi").subscribe(None, print, over)

    def over() -> None:
        ended.release()
        next_run()

    def work() -> None:
        for _ in range(abreast):
            next_run()
        for _ in range(total):
            assert ended.acquire(timeout=LIMIT)

    wall, cpu = timed(work)
    return total / wall, cpu / total * 1e3


def dispose_idle() -> list[float]:
    """Milliseconds from the dispose to the end of runs whose model waits."""
    arrived: SimpleQueue[bool] = SimpleQueue()
    model = ScriptedModel([lambda _: arrived.put(True), lambda scope: scope.sleep(LIMIT)], repeat_last=True)
    target, took = runner(model), []
    for number in range(103):
        handle = target.start("u", f"s{number}", "hi")
        arrived.get(timeout=LIMIT)
        time.sleep(0.002)  # let the worker fall asleep
        begun = time.perf_counter()
        handle.dispose()
        assert handle.wait(LIMIT) is not None
        took.append((time.perf_counter() - begun) * 1e3)
    return took[3:]


ACTS: dict[str, Callable[[], Any]] = {
    "scripted": scripted,
    "http": over_http,
    "throughput_10": lambda: throughput(10),
    "throughput_1000": lambda: throughput(RUNS),
    "dispose": dispose_idle,
}


def apart(act: str, times: int) -> list[Any]:
    """The act's answers, each from a process of its own."""
    command = [sys.executable, __file__, act]
    return [json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout) for _ in range(times)]


def main(repeats: int = 3) -> None:
    results = {}
    for act, suffix in (("scripted", ""), ("http", ".http")):
        got = apart(act, repeats)
        results[f"mem_concurrent_run{suffix}"] = figure([one["kib"] for one in got], "KiB/run waiting (1000)")
        results[f"concurrent1000_start{suffix}"] = figure([one["up"] for one in got], "s")
        results[f"concurrent1000_out{suffix}"] = figure([one["out"] for one in got], "s")
    few, many = [], []
    for _ in range(repeats):  # in turn: a busy machine is busy for both
        few += apart("throughput_10", 1)
        many += apart("throughput_1000", 1)
    for name, got in (("10", few), ("1000", many)):
        results[f"throughput_{name}"] = figure([runs for runs, _ in got], "runs/s", [cpu for _, cpu in got])
    pairs = list(zip(many, few, strict=True))
    results["throughput_1000 : 10"] = figure([one[0] / other[0] for one, other in pairs], "ratio")
    results["cpu_1000 : 10"] = figure([one[1] / other[1] for one, other in pairs], "ratio")
    results["cancel_idle_model"] = figure(apart("dispose", 1)[0], "ms")
    print(json.dumps({"system": "rxagent", "version": version("rxagent"), "results": results}, indent=2))


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    if sys.argv[1:2] and sys.argv[1] in ACTS:
        print(json.dumps(ACTS[sys.argv[1]]()))
    else:
        main(*(int(argument) for argument in sys.argv[1:]))
