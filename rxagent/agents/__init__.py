"""Agents."""

from .base import BaseAgent
from .callbacks import Callback, OneOrMany
from .llm_agent import Instruction, LlmAgent

__all__ = ["BaseAgent", "Callback", "Instruction", "LlmAgent", "OneOrMany"]
