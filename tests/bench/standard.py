"""rxagent under the work that its peers are measured by: a scripted model that answers at once.

`python tests/bench/standard.py [--only METRIC,...] [--repeats 5]`; `bench_beside.py` runs it beside the peers.
`NAME.mem` and `NAME.sqlite`: by session service. Runs are iterated with `run()`; `stream1000` is subscribed, and
`stream1000_by_run` iterated, on another thread than the run's.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rxagent import Content, Event, FunctionCall, LlmAgent, Part, RunConfig, Runner
from rxagent.models import BaseLlm, LlmRequest, LlmResponse
from rxagent.sessions import BaseSessionService, InMemorySessionService
from rxagent.streams import Blocking, CancelScope

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.measuring import LENGTHS, WORDS, Figure, Metrics, imported, main, rate, started, turns

SSE = RunConfig(streaming_mode="sse")
Answer = Callable[[LlmRequest], Iterator[LlmResponse]]


class Fake(BaseLlm):
    """A model that plays a function."""

    def __init__(self, answer: Answer) -> None:
        super().__init__("fake")
        self._answer = answer

    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Blocking[LlmResponse]:
        def produce(_: CancelScope) -> Iterator[LlmResponse]:
            return self._answer(llm_request)

        return Blocking(produce)


def hello(request: LlmRequest) -> Iterator[LlmResponse]:
    yield LlmResponse(content=Content.model("hello"))


def ten_calls(request: LlmRequest) -> Iterator[LlmResponse]:
    """Ask for the tool ten times, counted by the responses since the user's message."""
    calls = 0
    for content in reversed(request.contents):
        parts = content.parts or ()
        if any(part.function_response is not None for part in parts):
            calls += 1
        elif not any(part.function_call is not None for part in parts):
            break
    if calls < 10:
        call = FunctionCall(name="add", args={"a": calls, "b": 1})
        yield LlmResponse(content=Content(role="model", parts=(Part(function_call=call),)))
    else:
        yield LlmResponse(content=Content.model("done"))


def chunks(request: LlmRequest) -> Iterator[LlmResponse]:
    for _ in range(1000):
        yield LlmResponse(content=Content.model("chunk "), partial=True)
    yield LlmResponse(content=Content.model("chunk " * 1000))


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def service(kind: str) -> BaseSessionService:
    if kind == "mem":
        return InMemorySessionService()
    from rxagent.sessions import SqliteSessionService

    return SqliteSessionService(Path(tempfile.mkdtemp()) / "s.db")


class Bench:
    """A runner, and sessions for it."""

    def __init__(self, kind: str, answer: Answer, tools: tuple[Callable[..., Any], ...] = ()) -> None:
        agent = LlmAgent(name="root", model=Fake(answer), instruction="You help.", tools=tools)
        self.runner = Runner(agent, app_name="app", session_service=service(kind))
        self._names = (f"s{number}" for number in itertools.count())

    def fresh(self, count: int) -> list[str]:
        names = list(itertools.islice(self._names, count))
        for name in names:
            self.runner.session_service.create_session("app", "u", session_id=name)
        return names

    def filled(self, length: int) -> str:
        (name,) = self.fresh(1)
        session: Any = self.runner.session_service.get_session("app", "u", name)
        self.runner.session_service.append_events(session, [said(number) for number in range(length)])
        return name

    def iterate(self, sessions: list[str], config: RunConfig | None = None) -> None:
        for session in sessions:
            for _ in self.runner.run("u", session, "hi", config):
                pass

    def subscribe(self, sessions: list[str], config: RunConfig | None = None) -> None:
        for session in sessions:
            ended = threading.Event()
            self.runner.run_async("u", session, "hi", config).subscribe(None, print, ended.set)
            ended.wait()


def said(number: int) -> Event:
    author, make = ("root", Content.model) if number % 2 else ("user", Content.user)
    return Event(invocation_id=f"i{number // 2}", author=author, content=make(f"message number {number} {WORDS}"))


def runs(kind: str, repeats: int) -> Figure:
    bench = Bench(kind, hello)
    return rate(bench.iterate, 200 if kind == "mem" else 30, repeats, fresh=bench.fresh)


def loops(kind: str, repeats: int) -> Figure:
    bench = Bench(kind, ten_calls, (add,))
    return rate(bench.iterate, 20 if kind == "mem" else 4, repeats, fresh=bench.fresh)


def streams(kind: str, way: str, repeats: int) -> Figure:
    bench = Bench(kind, chunks)
    return rate(partial(getattr(bench, way), config=SSE), 2, repeats, fresh=bench.fresh, per=1001)


def growth(kind: str, length: int, repeats: int) -> Figure:
    bench = Bench(kind, hello)
    session = bench.filled(length)
    return turns(lambda: bench.iterate([session]), repeats)


def first() -> None:
    bench = Bench("mem", hello)
    bench.iterate(bench.fresh(1))


METRICS: Metrics = {
    "import_ms": lambda repeats: imported("import rxagent; rxagent.Runner; rxagent.LlmAgent", repeats),
    "startup_first_event": lambda repeats: started(__file__, repeats),
}
for kind in ("mem", "sqlite"):
    METRICS |= {
        f"runs_1event.{kind}": partial(runs, kind),
        f"toolloop10.{kind}": partial(loops, kind),
        f"stream1000.{kind}": partial(streams, kind, "subscribe"),
        f"stream1000_by_run.{kind}": partial(streams, kind, "iterate"),
    }
    METRICS |= {f"turn_at_{length}.{kind}": partial(growth, kind, length) for length in LENGTHS}


if __name__ == "__main__":
    main("rxagent", METRICS, first)
