"""Figures of long runs: what a step costs at the 1,000th and at the 10,000th, what a round of a loop, what a hand-over.

    python tests/bench/bench_depth.py [rounds]

Prints JSON: medians over the rounds of the median step around that place, wall clock and CPU of the run's own thread;
and how many times as much the later one costs.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

from reactivex import Observable

from rxagent.agents import BaseAgent, LlmAgent, LoopAgent
from rxagent.events import Content, FunctionCall, Part
from rxagent.invocation import ResumabilityConfig, RunConfig
from rxagent.models import BaseLlm, LlmRequest, LlmResponse
from rxagent.runner import App, Runner
from rxagent.streams import Blocking

EARLY, LATE = 1_000, 10_000
AROUND = 300
ROUNDS = 1_000
HANDS = 400


class Noting(BaseLlm):
    """A model that calls a tool, hands over, or speaks, and notes when it was asked, by the wall and by its CPU."""

    def __init__(self, wish: FunctionCall | None = None) -> None:
        super().__init__("noting")
        said = Part(text="One step more.") if wish is None else Part(function_call=wish)
        self._answer = LlmResponse(content=Content(role="model", parts=(said,)))
        self.times: list[tuple[float, float]] = []

    def generate_content(self, llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
        return Blocking(lambda scope: self._asked())

    def _asked(self) -> Iterator[LlmResponse]:
        self.times.append((time.perf_counter(), time.thread_time()))
        yield self._answer

    def cost(self, place: int) -> tuple[float, float]:
        """The median step around this place: wall and CPU, in microseconds."""
        steps = range(max(place - AROUND, 0), min(place, len(self.times) - 1))
        walls = [self.times[step + 1][0] - self.times[step][0] for step in steps]
        cpus = [self.times[step + 1][1] - self.times[step][1] for step in steps]
        return statistics.median(walls) * 1e6, statistics.median(cpus) * 1e6


def work(n: int) -> int:
    """Work."""
    return n


def play(agent: BaseAgent) -> None:
    app = App("depth", agent, resumability_config=ResumabilityConfig(resumable=True))
    with Runner(app=app) as runner:
        handle = runner.start("me", "s", "Go", RunConfig(max_llm_calls=0))
        outcome = handle.wait(600)
        assert outcome is not None, "no end"
        assert outcome.kind == "completed", outcome


def steps() -> dict[str, tuple[float, float]]:
    """One agent, 10,000 steps of one call each."""
    model = Noting(FunctionCall(name="work", args={"n": 1}))
    play(LlmAgent(name="a", model=model, tools=[work], max_steps=LATE))
    return {"early": model.cost(EARLY), "late": model.cost(LATE)}


def rounds() -> dict[str, tuple[float, float]]:
    """A loop of one agent that says one thing."""
    model = Noting()
    play(LoopAgent(name="loop", max_iterations=ROUNDS, sub_agents=[LlmAgent(name="a", model=model)]))
    return {"early": model.cost(ROUNDS // 10), "late": model.cost(ROUNDS)}


def hands() -> dict[str, tuple[float, float]]:
    """A chain of hand-overs; the whole of it, by its length."""
    agent = LlmAgent(name="a0", model=Noting())
    for number in range(1, HANDS):
        wish = FunctionCall(name="transfer_to_agent", args={"agent_name": agent.name})
        agent = LlmAgent(name=f"a{number}", model=Noting(wish), sub_agents=[agent])
    wall, cpu = time.perf_counter(), time.process_time()
    play(agent)
    return {"all": ((time.perf_counter() - wall) / HANDS * 1e6, (time.process_time() - cpu) / HANDS * 1e6)}


def main(repeats: int = 3) -> None:
    """Measure, and print."""
    results: dict[str, Any] = {}
    for name, measure in (("step", steps), ("loop_round", rounds), ("hand_over", hands)):
        taken = []
        for _ in range(repeats):
            gc.collect()
            gc.freeze()
            taken.append(measure())
        medians = {
            place: [statistics.median(one[place][clock] for one in taken) for clock in (0, 1)] for place in taken[0]
        }
        for place, (wall, cpu) in medians.items():
            unit = {"unit": "us", "cpu_median": round(cpu, 1)}
            results[f"{name}_{place}"] = {"median": round(wall, 1), **unit}
        if "late" in medians:
            late, early = medians["late"], medians["early"]
            ratio = {"unit": "times", "cpu_median": round(late[1] / early[1], 2)}
            results[f"{name}_growth"] = {"median": round(late[0] / early[0], 2), **ratio}
    print(json.dumps({"system": "rxagent", "version": "0.1.0", "results": results}, indent=2))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
