"""Which model answers: by flag, by environment, or the local one."""

from __future__ import annotations

import argparse
import os

from rxagent.errors import UsageError
from rxagent.models.base import BaseLlm
from rxagent.models.registry import LlmRegistry

__all__ = ["pick_model"]


def pick_model(arguments: argparse.Namespace) -> BaseLlm:
    """The model of `--model` and `--base-url`, else of the environment, else the local one.

    Raises UsageError when a server is named and no model, ConfigError when a model is named and no server.
    """
    name = arguments.model or os.environ.get("RXAGENT_MODEL")
    base_url = arguments.base_url or os.environ.get("RXAGENT_BASE_URL") or os.environ.get("OPENAI_BASE_URL")
    if not name:
        if base_url:
            raise UsageError(f"add --model NAME for the server {base_url}, or --model local for the local model")
        name = "local"
    if name.endswith(".gguf"):
        from rxagent.models.local import LocalModel

        return LocalModel(name)
    if arguments.base_url and name != "local":
        from rxagent.models.chat_completions import ChatCompletions

        return ChatCompletions(name, base_url=arguments.base_url)
    return LlmRegistry.resolve(name)
