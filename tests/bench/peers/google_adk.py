"""google-adk under the standard work. Run it with the Python of a virtual environment that has google-adk."""

# mypy: ignore-errors
from __future__ import annotations

import itertools
import sqlite3
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.bench.measuring import LENGTHS, WORDS, Figure, Loop, Metrics, imported, main, rate, started, turns

IMPORT = (
    "from google.adk.runners import Runner; from google.adk.agents import LlmAgent; "
    "from google.adk.sessions import InMemorySessionService"
)
SIZES = {"mem": (200, 20), "sqlite": (30, 4)}
loop = Loop()


def said(role: str, text: str) -> Any:
    from google.genai import types

    return types.Content(role=role, parts=[types.Part(text=text)])


async def hello(_: Any) -> Any:
    from google.adk.models.llm_response import LlmResponse

    yield LlmResponse(content=said("model", "hello"))


async def ten_calls(request: Any) -> Any:
    from google.adk.models.llm_response import LlmResponse
    from google.genai import types

    calls = 0
    for content in reversed(request.contents):
        parts = content.parts or []
        if any(part.function_response for part in parts):
            calls += 1
        elif not any(part.function_call for part in parts):
            break
    call = types.Part(function_call=types.FunctionCall(name="add", args={"a": calls, "b": 1}))
    content = types.Content(role="model", parts=[call]) if calls < 10 else said("model", "done")
    yield LlmResponse(content=content)


async def chunks(_: Any) -> Any:
    from google.adk.models.llm_response import LlmResponse

    for _ in range(1000):
        yield LlmResponse(content=said("model", "chunk "), partial=True)
    yield LlmResponse(content=said("model", "chunk " * 1000))


async def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


class Bench:
    """A runner, and sessions for it."""

    def __init__(self, kind: str, answer: Any, tools: tuple[Any, ...] = ()) -> None:
        from google.adk.agents.llm_agent import LlmAgent
        from google.adk.models.base_llm import BaseLlm
        from google.adk.runners import Runner
        from google.adk.sessions.in_memory_session_service import InMemorySessionService

        class Fake(BaseLlm):
            model: str = "fake"

            async def generate_content_async(self, request: Any, stream: bool = False) -> Any:
                async for response in answer(request):
                    yield response

        if kind == "mem":
            self.service: Any = InMemorySessionService()
        else:
            from google.adk.sessions.sqlite_session_service import SqliteSessionService

            self.service = SqliteSessionService(tempfile.mkdtemp() + "/s.db")
        agent = LlmAgent(name="root", model=Fake(), instruction="You help.", tools=list(tools))
        self.runner = Runner(app_name="app", agent=agent, session_service=self.service)
        self.kind = kind
        self._names = (f"s{number}" for number in itertools.count())

    def fresh(self, count: int) -> list[str]:
        names = list(itertools.islice(self._names, count))
        for name in names:
            loop.run(self.service.create_session(app_name="app", user_id="u", session_id=name))
        return names

    async def run(self, session: str, **options: Any) -> None:
        message = said("user", "hi")
        async for _ in self.runner.run_async(user_id="u", session_id=session, new_message=message, **options):
            pass

    def filled(self, length: int) -> str:
        (name,) = self.fresh(1)
        events = [self._event(number, length) for number in range(length)]
        if self.kind == "mem":
            self.service.sessions["app"]["u"][name].events.extend(events)
            return name
        rows = [
            (event.id, "app", "u", name, event.invocation_id, event.timestamp, event.model_dump_json(exclude_none=True))
            for event in events
        ]
        with sqlite3.connect(self.service._db_path) as db:
            db.executemany("INSERT INTO events VALUES (?,?,?,?,?,?,?)", rows)
        return name

    def _event(self, number: int, length: int) -> Any:
        from google.adk.events.event import Event

        author, role = ("root", "model") if number % 2 else ("user", "user")
        content = said(role, f"message number {number} {WORDS}")
        event = Event(invocation_id=f"i{number // 2}", author=author, content=content)
        event.id, event.timestamp = Event.new_id(), time.time() - length - 10 + number
        return event


def runs(kind: str, repeats: int) -> Figure:
    bench = Bench(kind, hello)
    return rate(loop.each(bench.run), SIZES[kind][0], repeats, fresh=bench.fresh)


def loops(kind: str, repeats: int) -> Figure:
    bench = Bench(kind, ten_calls, (add,))
    return rate(loop.each(bench.run), SIZES[kind][1], repeats, fresh=bench.fresh)


def streams(kind: str, repeats: int) -> Figure:
    from google.adk.agents.run_config import RunConfig, StreamingMode

    bench = Bench(kind, chunks)
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    return rate(loop.each(partial(bench.run, run_config=config)), 2, repeats, fresh=bench.fresh, per=1001)


def growth(kind: str, length: int, repeats: int) -> Figure:
    bench = Bench(kind, hello)
    session = bench.filled(length)
    return turns(lambda: loop.run(bench.run(session)), repeats)


def first() -> None:
    bench = Bench("mem", hello)
    loop.run(bench.run(bench.fresh(1)[0]))


METRICS: Metrics = {
    "import_ms": partial(imported, IMPORT),
    "startup_first_event": partial(started, __file__),
}
for kind in SIZES:
    METRICS |= {
        f"runs_1event.{kind}": partial(runs, kind),
        f"toolloop10.{kind}": partial(loops, kind),
        f"stream1000.{kind}": partial(streams, kind),
    }
    METRICS |= {f"turn_at_{length}.{kind}": partial(growth, kind, length) for length in LENGTHS}


if __name__ == "__main__":
    main("google-adk", METRICS, first)
