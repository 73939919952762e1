"""The agent that answers when none is named."""

from __future__ import annotations

from typing import Final

from rxagent.agents import LlmAgent
from rxagent.invocation import CallbackContext
from rxagent.models.base import BaseLlm
from rxagent.models.local import LocalModel
from rxagent.models.request import GenerateContentConfig, LlmRequest

__all__ = ["assistant"]


_UNREPEATED: Final = GenerateContentConfig(extra_body={"repeat_penalty": 1.1})
"""llama.cpp's own key. Without it a small model says its last sentence again and again; with it, it calls no tools."""


def assistant(model: BaseLlm) -> LlmAgent:
    """An agent without tools that hands the conversation to the model as it is."""
    return LlmAgent(
        name="assistant",
        model=model,
        generate_content_config=_UNREPEATED if isinstance(model, LocalModel) else None,
        before_model_callback=_without_identity,
    )


def _without_identity(context: CallbackContext, request: LlmRequest) -> None:
    """Nobody else is here whom the model could take itself for; a small one, told its name, talks of nothing else."""
    request.system_instruction = ""
