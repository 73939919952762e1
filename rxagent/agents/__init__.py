"""Agents."""

from .base import BaseAgent
from .callbacks import Callback, OneOrMany
from .llm_agent import Instruction, LlmAgent
from .loop_agent import LoopAgent
from .parallel_agent import ParallelAgent
from .rehydration import rehydrated
from .routing import find_agent_to_run
from .sequential_agent import SequentialAgent

__all__ = [
    "BaseAgent",
    "Callback",
    "Instruction",
    "LlmAgent",
    "LoopAgent",
    "OneOrMany",
    "ParallelAgent",
    "SequentialAgent",
    "find_agent_to_run",
    "rehydrated",
]
