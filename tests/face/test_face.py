"""The public face runs as it is written, against a scripted server."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import rxagent
from rxagent import FunctionTool, LlmAgent, Runner
from rxagent.testing import ScriptedModel

from .blocks import Block, run
from .preludes import (
    DUE,
    FACE,
    LATER,
    STORY,
    Exports,
    endless_story,
    enough_after,
    face_block,
    names,
    number,
    only_a_story,
    scripted,
    story_runner,
    tool_names,
    wants,
    with_callbacks,
)


def test_every_section_is_run_or_owed() -> None:
    """No Python block of the face is forgotten."""
    assert {number(block) for block in FACE if block.language == "python"} == DUE | LATER


@pytest.mark.parametrize("block", [block for block in FACE if block.language == "python"], ids=number)
def test_blocks_compile(block: Block) -> None:
    """Each Python block is Python, with `await` at the top level."""
    run(block._replace(source=f"async def unused():\n{re.sub('(?m)^', '    ', block.source)}"), {})


def test_1_five_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Five lines run an agent and print its answer."""
    with scripted([["It starts ", "when subscribed."]]):
        run(face_block("1"), names())
    assert capsys.readouterr().out == "It starts when subscribed.\n"


@pytest.fixture
def runner() -> Iterator[Runner]:
    with story_runner() as made:
        yield made


def test_2_an_observable(runner: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    """A run is subscribed with operators in between, and left by dispose, silently."""
    with scripted(endless_story) as server:
        namespace = names(runner=runner)
        run(face_block("2"), namespace)
        assert namespace["handle"].is_disposed
        shown = capsys.readouterr().out
        assert "done" not in shown
        assert set(shown.split("\n")) <= {*STORY, ""}
        assert len(server.requests) <= 1
        runner.close()


def test_2_to_its_end(runner: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    """The same without the dispose prints all partials, then that it is done."""
    over = threading.Event()
    block = face_block("2").replaced("handle.dispose()", "assert over.wait(10)")
    block = block.replaced('print("done")', '(print("done"), over.set())')
    with scripted(only_a_story):
        run(block, names(runner=runner, over=over))
        runner.close()
    lines = capsys.readouterr().out.split("\n")
    assert lines == [*STORY, "done", ""]


def test_3_a_handle(runner: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    """A handle is iterated, stopped in the middle, and says how the run ended."""
    sse = rxagent.RunConfig(streaming_mode="sse")
    with scripted(endless_story):
        run(face_block("3"), names(runner=runner, sse=sse, enough=enough_after(3)))
        runner.close()
    first, second = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"aborted \(user_stop\): \d+ events? saved.*, \d+(\.\d+)? ms", first)
    assert second.split()[:2] == ["aborted", "user_stop"]


def test_4_asyncio(runner: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    """`async for` reads the partials of a run."""
    sse = rxagent.RunConfig(streaming_mode="sse")
    with scripted(only_a_story):
        run(face_block("4"), names(runner=runner, sse=sse, asyncio=asyncio))
        runner.close()
    assert capsys.readouterr().out == "".join(STORY)


def test_5_tools() -> None:
    """A function, a coroutine and a Single are tools; each is called with the model's arguments."""
    pools: list[ThreadPoolExecutor] = []
    exports = Exports()
    namespace = tool_names(pools, exports)
    script = [
        [
            wants("get_weather", city="Oslo", unit="F"),
            wants("look_up", url="http://x"),
            wants("export_report", report_id="7"),
        ],
        ["Done."],
    ]
    with scripted(script):
        run(face_block("5"), namespace)
        with Runner(namespace["agent"]) as runner:
            events = list(runner.run("me", "s1", "Weather, page and report, please."))
    for pool in pools:
        pool.shutdown()
    [answers] = [event.function_responses for event in events if event.function_responses]
    assert [answer.name for answer in answers] == ["get_weather", "look_up", "export_report"]
    assert answers[0].response == {"city": "Oslo", "degrees": 21, "unit": "F"}
    assert answers[2].response == {"status": "done", "export_id": answers[2].id}
    assert sorted(exports.rows) == [(answers[2].id, f"7-{chunk}") for chunk in range(3)]
    assert events[-1].text == "Done."


def test_6_the_stop_button(runner: Runner) -> None:
    """A signal of somebody else stops the run, with its reason."""
    with scripted(endless_story):
        namespace = names(runner=runner)
        run(face_block("6"), namespace)
        outcome = namespace["run"].outcome
        runner.close()
    assert namespace["signal"].is_set()
    assert (outcome.kind, outcome.reason) == ("aborted", "worker_shutdown")


def test_7_callbacks_and_plugins() -> None:
    """A before-agent callback stops the run from inside; the plugin is told of each run's end, and of its usage."""
    charged: list[tuple[str, int]] = []
    with scripted([["Working."]]) as server:
        namespace = with_callbacks(lambda user, usage: charged.append((user, usage.llm_calls)))
        run(face_block("7"), namespace)
        with namespace["runner"] as runner:
            first = [event.text for event in runner.run("me", "s1", "Hi")]
            second = list(runner.run("me", "s1", "Stop", state_delta={"stop_requested": True}))
            stored = runner.session_service.get_session("support", "me", "s1").events
        assert len(server.requests) == 1
    assert first == ["Working."]
    assert [(event.author, event.text) for event in second] == [("support", "Stopped at your request.")]
    assert stored[-1].id == second[0].id
    assert charged == [("me", 1), ("me", 0)]


def test_8_pause_and_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tool waits for its confirmation; the question is in the file, and its answer runs the tool, once."""
    monkeypatch.chdir(tmp_path)
    refunded: list[int] = []

    def refund(order: int) -> str:
        """Refund an order."""
        refunded.append(order)
        return "done"

    agent = LlmAgent(name="refunds", model="local", tools=[FunctionTool(refund, require_confirmation=True)])
    with scripted([[wants("refund", order=7)], ["Refunded."]]):
        namespace = names(agent=agent)
        run(face_block("8"), namespace)
        runner = namespace["runner"]
        assert runner.pending("me", "s1") == []
        stored = runner.session_service.get_session("refunds", "me", "s1").events
        runner.close()
        runner.session_service.close()
    assert refunded == [7]
    assert [event.text for event in stored if event.text][-1] == "Refunded."
    call_id, name, args = capsys.readouterr().out.split(" ", 2)
    assert (call_id != "", name) == (True, "refund")
    assert args.startswith("{'order': 7}")


def test_9_agents_of_agents() -> None:
    """The pipeline's agents speak in their order: two side by side, then two in turn, three times."""

    def speaker(name: str) -> LlmAgent:
        return LlmAgent(name=name, model=ScriptedModel(name, repeat_last=True))

    parts = {name: speaker(name) for name in ("web", "papers", "writer", "critic")}
    namespace = names(**parts)
    run(face_block("9"), namespace)
    with Runner(namespace["pipeline"]) as runner:
        said = [event.text for event in runner.run("me", "s1", "Go")]
    assert sorted(said[:2]) == ["papers", "web"]
    assert said[2:] == ["writer", "critic"] * 3


def test_11_testing() -> None:
    """The test that the face shows for one's own agent passes."""

    def get_weather(city: str) -> dict[str, object]:
        """Current weather."""
        return {"city": city, "degrees": 21}

    namespace = names(get_weather=get_weather)
    run(face_block("11"), namespace)
    assert isinstance(namespace["model"], ScriptedModel)
    namespace["test_my_agent_can_be_stopped_anywhere"]()
