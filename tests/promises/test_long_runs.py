"""Long runs: a flat stack, and a log that grows by what is said. What a step costs: tests/bench/bench_depth.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reactivex import Observable

from rxagent import RunConfig
from rxagent.agents import LoopAgent
from rxagent.events import Content, FunctionCall, Part
from rxagent.models import BaseLlm, LlmRequest, LlmResponse
from rxagent.sessions import SqliteSessionService
from rxagent.streams import Blocking
from tests.runner.driving import USER, log

from .pausing import ASK, app_runner, llm, marks, run

STEPS = 10_000


class Steps(BaseLlm):
    """A model that calls a tool in each of its steps, and notes the depth of the stack."""

    def __init__(self, steps: int, tool: str | None = "work") -> None:
        super().__init__("steps")
        self.steps, self.tool = steps, tool
        self.depths: list[int] = []

    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
        return Blocking(lambda scope: self._answer(stream))

    def _answer(self, stream: bool) -> Iterator[LlmResponse]:
        self.depths.append(_depth())
        for word in ("One ", "step ", "more.") if stream else ():
            yield LlmResponse(content=Content.model(word), partial=True)
        if self.tool is None or len(self.depths) > self.steps:
            yield LlmResponse(content=Content.model("Done."))
            return
        wish = FunctionCall(name=self.tool, args={"n": len(self.depths), "question": "?"})
        yield LlmResponse(content=Content(role="model", parts=(Part(text="One step more."), Part(function_call=wish))))


def _depth() -> int:
    frame: Any = sys._getframe()
    depth = 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


def work(n: int) -> int:
    """Work."""
    return n


def test_ten_thousand_steps() -> None:
    """10,000 steps of one run: the stack is as deep as at the first, and two events a step."""
    model = Steps(STEPS)
    runner = app_runner(llm("a", model, tools=[work]))
    handle = runner.start(USER, "s", "Go", RunConfig(streaming_mode="sse", max_llm_calls=0))
    outcome = handle.wait(60)
    assert outcome is not None
    assert outcome.kind == "completed"
    runner.close()
    assert len(set(model.depths)) == 1
    assert outcome.events_saved == 2 * STEPS + 2  # and the answer, and the end marker


def test_a_thousand_rounds_of_a_loop() -> None:
    """1,000 iterations: flat, and three events each: checkpoint, answer, end."""
    model = Steps(0, tool=None)
    runner = app_runner(LoopAgent(name="loop", max_iterations=1_000, sub_agents=[llm("a", model)]))
    events = run(runner, "Go", run_config=RunConfig(max_llm_calls=0))
    assert len(events) == 3 * 1_000 + 1
    assert marks(events[-4:]) == ["loop -> a 999", "a: Done.", "a end", "loop end"]
    assert len(set(model.depths)) == 1


def test_two_hundred_pauses(tmp_path: Path) -> None:
    """200 pauses and resumes of one invocation, in a file: two events a round, no deeper, and finished at the end."""
    service = SqliteSessionService(tmp_path / "s.db")
    model = Steps(200, tool="ask")
    runner = app_runner(llm("a", model, tools=[ASK]), service)
    assert len(run(runner, "Go")) == 1
    for _ in range(199):
        [question] = runner.pending(USER, "s")
        assert len(run(runner, question.answer({"ok": True}))) == 1
    [question] = runner.pending(USER, "s")
    assert marks(run(runner, question.answer({"ok": True}))) == ["a: Done.", "a end"]
    assert len(log(runner)) == 1 + 2 * 200 + 2
    assert len(set(model.depths)) == 1
    assert len({event.invocation_id for event in log(runner)}) == 1
    service.close()
