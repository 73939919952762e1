"""The free names of the face's blocks, and a server that plays the model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import rxagent
from rxagent import ChatCompletions, Event, LlmAgent, LlmRegistry, Runner
from rxagent.events import FunctionCall
from rxagent.testing.chat_server import ChatServer, Received, TurnLike, stall

from .blocks import Block, blocks

__all__ = [
    "DUE",
    "FACE",
    "LATER",
    "NOT_YET",
    "STORY",
    "Exports",
    "Reports",
    "endless_story",
    "enough_after",
    "face_block",
    "names",
    "number",
    "only_a_story",
    "scripted",
    "story_runner",
    "tool_names",
    "wants",
    "with_callbacks",
]

FACE = blocks(Path(__file__).with_name("face.md"))
DUE = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "11"}
LATER = {"10"}  # what it names does not exist yet; 12, the shell, is in test_shell.py
NOT_YET = {"--timeline"}  # of the shell's lines


def number(block: Block) -> str:
    """The section's number."""
    return block.section.partition(".")[0]


def face_block(section: str) -> Block:
    """A section's block."""
    [found] = [block for block in FACE if number(block) == section]
    return found


STORY = [f"Once {number} " for number in range(40)]


def names(**free: Any) -> dict[str, Any]:
    """All that `rxagent` offers, and the free names of a section."""
    offered = {name: getattr(rxagent, name) for name in rxagent.__all__}
    return {"__name__": "face", **offered, **free}


@contextmanager
def scripted(script: Any) -> Iterator[ChatServer]:
    """Let every model name, "local" too, mean a scripted server."""
    made: list[ChatCompletions] = []

    def make(name: str) -> ChatCompletions:
        made.append(ChatCompletions(name, base_url=server.base_url))
        return made[-1]

    with ChatServer(script) as server:
        LlmRegistry.clear()
        LlmRegistry.register(".*", make)
        try:
            yield server
        finally:
            LlmRegistry.clear()
            for model in made:
                model.close()


def only_a_story(_: Received) -> TurnLike:
    """The answer to each request: the whole story."""
    return STORY


def endless_story(_: Received) -> TurnLike:
    """The answer to each request: a story whose end never comes."""
    return [*STORY, stall()]


def story_runner() -> Runner:
    """What the face calls `runner`."""
    return Runner(LlmAgent(name="assistant", model="local", instruction="Tell stories."))


def enough_after(count: int) -> Callable[[Event], bool]:
    """The face's `enough`: true from the count-th event on."""
    seen = itertools.count(1)
    return lambda event: next(seen) >= count


class Reports:
    """The face's `reports`."""

    def chunks(self, report_id: str) -> Iterator[str]:
        yield from (f"{report_id}-{number}" for number in range(3))


class Exports:
    """The face's `exports`: writes keyed by call and chunk."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], str] = {}

    def write_chunk(self, call_id: str, chunk: str) -> None:
        self.rows[call_id, chunk] = chunk


def tool_names(pool: list[ThreadPoolExecutor], exports: Exports) -> dict[str, Any]:
    """The free names of the tools' section. pool: gets the executors that the block makes, for closing."""

    def executor(workers: int) -> ThreadPoolExecutor:
        pool.append(ThreadPoolExecutor(workers))
        return pool[-1]

    return names(Literal=Literal, ThreadPoolExecutor=executor, reports=Reports(), exports=exports)


def with_callbacks(charge: Callable[[str, Any], object]) -> dict[str, Any]:
    """The free names of the section on callbacks. charge: gets the user and the usage of each run."""
    return names(charge=charge)


def wants(name: str, **arguments: Any) -> FunctionCall:
    """A model's wish to call a tool."""
    return FunctionCall(name=name, args=arguments)
