"""Reading a run again: from where a reader left off, by several, from another process, slowly or not at all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rxagent import InMemorySessionService, LlmAgent, Runner, SqliteSessionService
from rxagent.agents import BaseAgent
from rxagent.events import Content, Event
from rxagent.models import LlmResponse
from rxagent.serve.follow import follow_live
from rxagent.serve.frames import event_frame
from rxagent.serve.reader import Reader
from rxagent.serve.run_record import RunRecord
from rxagent.sessions import Session, SessionKey, current_owner
from rxagent.streams import Blocking
from rxagent.testing import ScriptedModel, call
from rxagent.testing.scripted_model import Item, gate

from .served import Frame, Served, Stream, served

STEPS = 6
MANY = 500


class Steps:
    """A tool whose calls go on one at a time, when they are let."""

    def __init__(self) -> None:
        self.go = threading.Semaphore(0)

    def agent(self) -> LlmAgent:
        def step(number: int) -> int:
            """One step."""
            assert self.go.acquire(timeout=10)
            return number

        turns: list[Any] = [call("step", number=number) for number in range(STEPS)]
        return LlmAgent(name="support", model=ScriptedModel(*turns, "Done."), tools=[step])


@pytest.fixture
def steps() -> Steps:
    return Steps()


@pytest.fixture
def server(steps: Steps) -> Iterator[Served]:
    with served(steps.agent()) as found:
        found.create()
        yield found


def ids(frames: list[Frame]) -> list[int]:
    return [int(frame.id) for frame in frames if frame.id is not None]


def read(stream: Stream, count: int) -> list[Frame]:
    """The next `count` events."""
    events = stream.events()
    return [next(events) for _ in range(count)]


def again(server: Served, run_id: str, last: int | None = None) -> Stream:
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    return server.open("GET", f"/runs/{run_id}/events", headers=headers)


def test_who_comes_back_misses_and_repeats_nothing(server: Served, steps: Steps) -> None:
    """Dropped after one event, back, dropped at once, back again: the events behind that one, each once, to the end."""
    with server.start(onDisconnect="detach") as stream:
        steps.go.release(2)
        seen = read(stream, 4)
        stream.drop()
    with again(server, stream.run_id, int(seen[-1].id or 0)) as second:
        second.drop()
    with again(server, stream.run_id, int(seen[-1].id or 0)) as third:
        steps.go.release(STEPS)
        rest = list(third)
    assert ids(seen) + ids(rest) == list(range(2, 2 * STEPS + 3))
    assert [frame.event for frame in rest if frame.event] == ["outcome"]


def test_an_ended_run_can_be_read_again(server: Served, steps: Steps) -> None:
    """All its events, or those behind an id, and the same last frame; the user's own event is not among them."""
    steps.go.release(STEPS)
    with server.start() as stream:
        first = list(stream)
    with again(server, stream.run_id) as whole:
        frames = list(whole)
    assert [frame.data.get("author") for frame in frames if frame.id][:2] == ["support", "support"]
    assert ids(frames) == ids(first)
    assert frames[-1].data["customMetadata"] == first[-1].data["customMetadata"]
    with server.open("GET", f"/runs/{stream.run_id}/events?last_event_id=12") as behind:
        assert ids(list(behind)) == list(range(13, 2 * STEPS + 3))


def test_a_reader_stops_the_run_that_another_started(server: Served, steps: Steps) -> None:
    """Two readers, a stop that came by the second: both get the end, with the same outcome."""
    with server.start() as one:
        steps.go.release(1)
        read(one, 3)
        with again(server, one.run_id) as two:
            assert ids(read(two, 3)) == [2, 3, 4]
            steps.go.release(STEPS)  # so that the blocking tool lets go
            server.ask("POST", f"/runs/{one.run_id}/abort")
            last = [list(stream)[-1] for stream in (one, two)]
    assert [frame.event for frame in last] == ["outcome", "outcome"]
    assert last[0].data["customMetadata"] == last[1].data["customMetadata"]


def test_who_comes_in_the_middle_of_a_text_sees_it_whole() -> None:
    """The partial events since the last stored one come first; then each further one, once."""
    gates = [threading.Event() for _ in range(3)]
    words = [f"w{number} " for number in range(200)]
    turn: list[Item] = [*words, gate(gates[0]), *words, gate(gates[1]), "end.", gate(gates[2])]
    with served(LlmAgent(name="support", model=ScriptedModel(turn))) as server:
        server.create()
        with server.start(streaming=True) as one:
            assert len(read(one, 200)) == 200
            gates[0].set()
            assert len(read(one, 200)) == 200
            with again(server, one.run_id) as two:
                assert "".join(frame.text for frame in read(two, 400)) == "".join(2 * words)
                gates[1].set()
                assert [frame.text for frame in read(two, 1)] == ["end."]
                gates[2].set()
                rest = list(two.events())
        assert [(frame.id, frame.text) for frame in rest] == [("2", "".join(2 * words) + "end.")]


def test_a_text_that_is_too_long_to_be_kept_is_not_begun_in_its_middle() -> None:
    """Who comes late to half a megabyte of partial events gets none of them, and the whole at its end."""
    gates = [threading.Event() for _ in range(2)]
    words = ["x" * 3000] * 100
    turn: list[Item] = [*words, gate(gates[0]), *words, gate(gates[1])]
    with served(LlmAgent(name="support", model=ScriptedModel(turn))) as server:
        server.create()
        with server.start(streaming=True) as one:
            read(one, 100)
            gates[0].set()
            read(one, 100)
            with again(server, one.run_id) as two:
                gates[1].set()
                assert [(frame.id, len(frame.text)) for frame in two.events()] == [("2", 600_000)]


def test_a_run_is_read_by_another_server_on_the_file(tmp_path: Path, steps: Steps) -> None:
    """Its stored events, as they come, and its end; the runs of both are listed by either."""
    path = tmp_path / "chat.db"
    runners = [
        Runner(steps.agent(), app_name="app", session_service=SqliteSessionService(path), auto_create_session=False)
        for _ in range(2)
    ]
    with served(runners[0]) as here, served(runners[1]) as there:
        here.create()
        with here.start() as stream, again(there, stream.run_id) as far:
            steps.go.release(STEPS)
            frames = list(far)
            assert [frame for frame in frames if frame.id] == [frame for frame in stream if frame.id]
        assert frames[-1].event == "outcome"
        assert there.get("/runs") == here.get("/runs")
    for runner in runners:
        runner.session_service.close()


def test_a_slow_reader_loses_partial_events_only(server: Served) -> None:
    """Nobody reads for a while; the run goes on and ends; the reader then gets every stored event, and the outcome."""
    words = [LlmResponse(content=Content.model("x" * 2000), partial=True)] * 3000
    turns: list[list[Item]] = [[*words, call("nothing")] for _ in range(3)]

    def nothing() -> str:
        """Nothing."""
        return "y" * 2000

    agent = LlmAgent(name="support", model=ScriptedModel(*turns, "Done."), tools=[nothing])
    with served(agent) as slow:
        slow.create()
        with slow.start(streaming=True) as stream:
            assert slow.ended(stream.run_id)["outcome"]["kind"] == "completed"
            frames = list(stream)
        assert ids(frames) == list(range(2, 9))
        assert frames[-1].event == "outcome"
        assert sum(frame.id is None for frame in frames) < 3 * 3000
        metrics = slow.ask("GET", "/metrics").body.decode()
        [dropped] = [line for line in metrics.splitlines() if line.startswith("rxagent_reader_partials_dropped_total ")]
        assert int(dropped.split()[1]) > 0


class Pages:
    """How many events are loaded at once, with pages of this size."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
        self.loaded: list[int] = []
        monkeypatch.setattr("rxagent.serve.emitted._PAGE", size)
        original = InMemorySessionService.get_session

        def get_session(service: Any, *args: Any) -> Any:
            found = original(service, *args)
            if found is not None:
                self.loaded.append(len(found.events))
            return found

        monkeypatch.setattr(InMemorySessionService, "get_session", get_session)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_a_long_log_is_read_by_pages(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """An ended run among others, whatever the pages hold of it: each event once, and never more than a page loaded."""

    def step() -> str:
        """One step."""
        return "done"

    turns: list[Any] = [call("step"), call("step"), "Done."] * 3
    with served(LlmAgent(name="support", model=ScriptedModel(*turns), tools=[step])) as server:
        server.create()
        runs = []
        for _ in range(3):
            with server.start() as stream:
                runs.append((stream.run_id, ids(list(stream))))
        pages = Pages(monkeypatch, size)
        for number, (run_id, seen) in enumerate(runs):
            assert seen == list(range(6 * number + 2, 6 * number + 7))
            for last in (0, seen[0], seen[-1]):
                with again(server, run_id, last) as stream:
                    assert ids(list(stream)) == [seq for seq in seen if seq > last]
        assert max(pages.loaded) == min(size, 18)


@pytest.mark.parametrize("resumes", [False, True])
def test_who_falls_behind_while_it_catches_up_reads_on_in_the_log(resumes: bool) -> None:
    """What the buffer had to leave out meanwhile comes before what it holds since.

    Also when the run turns out to go on with another invocation, whose events were passed over.
    """
    reader, key = Reader(0, behind=True), SessionKey("app", "me", "s1")
    record = RunRecord("e-1", key, current_owner("test"), 0.0, invocation_id="e-1")
    run: Any = SimpleNamespace(run_id="e-1", record=record)
    own = "e-0" if resumes else "e-1"

    class Growing(InMemorySessionService):
        def get_session(self, *args: Any, **options: Any) -> Session | None:
            found = super().get_session(*args, **options)
            if resumes:
                run.record = record._replace(invocation_id="e-0", first_seq=1)
            if not reader.is_ended:  # the run stores, and offers, more than the buffer takes, and ends
                store(100)
                reader.end()
            return found

    service = Growing()
    session = service.create_session("app", "me", session_id="s1")

    def store(count: int) -> None:
        for event in service.append_events(session, [Event(invocation_id=own, author="a")] * count):
            reader.offer(event_frame(event))

    async def read() -> bytes:
        return b"".join([chunk async for chunk in follow_live(run, reader, service, 1.0)])

    store(3)
    found = [int(line.removeprefix(b"id: ")) for line in asyncio.run(read()).split(b"\n") if line.startswith(b"id: ")]
    assert found == list(range(1, 104))


class Many(BaseAgent):
    """An agent that says more than connections hold, and as much again when it is let."""

    def __init__(self, go: threading.Event, half: threading.Event) -> None:
        super().__init__(name="many")
        self.go, self.half = go, half

    def run_async_impl(self, ctx: Any) -> Any:
        def say(_: object) -> Iterator[Event]:
            for number in range(2 * MANY):
                if number == MANY:
                    self.half.set()
                    assert self.go.wait(10)
                yield Event(invocation_id=ctx.invocation_id, author=self.name, content=Content.model("x" * 8000))

        return Blocking(say)


@pytest.mark.parametrize("size", [7, 256])
def test_readers_that_are_far_behind_catch_up_by_pages_while_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """One that did not read, one that comes late, and one at another server: each event once, in order, to the end."""
    monkeypatch.setattr("rxagent.serve.emitted._PAGE", size)
    go, half = threading.Event(), threading.Event()
    services = [SqliteSessionService(tmp_path / "chat.db") for _ in range(2)]
    here, there = (Runner(Many(go, half), app_name="app", session_service=service) for service in services)
    with served(here) as one, served(there) as other, one.start() as stream:
        assert half.wait(10)
        with again(one, stream.run_id, 0) as late, again(other, stream.run_id, 0) as far:
            assert ids(read(late, 10)) == list(range(2, 12))
            go.set()
            assert ids(list(far)) == list(range(2, 2 * MANY + 2))
            assert ids(list(late)) == list(range(12, 2 * MANY + 2))
        assert ids(list(stream)) == list(range(2, 2 * MANY + 2))
    for service in services:
        service.close()


def test_silence_is_broken_by_comments() -> None:
    """A run that says nothing sends a comment now and then, so that no proxy takes the connection for dead."""
    from rxagent.serve import ServeSettings

    go = threading.Event()
    agent = LlmAgent(name="support", model=ScriptedModel([gate(go), "Done."]))
    with served(agent, ServeSettings(keep_alive=0.02)) as server:
        server.create()
        with server.start() as stream:
            frames = iter(stream)
            assert [next(frames).comment for _ in range(3)] == [stream.run_id, "still here", "still here"]
            go.set()
            assert list(frames)[-1].event == "outcome"
