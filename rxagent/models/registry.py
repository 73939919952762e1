"""LlmRegistry: model names to models."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from typing import ClassVar, TypeAlias, final

from rxagent.errors import ConfigError

from .base import BaseLlm

__all__ = ["LlmRegistry"]

Factory: TypeAlias = Callable[[str], BaseLlm]


@final
class LlmRegistry:
    """Which model a name means, for the whole process (ADK's LlmRegistry).

        LlmRegistry.register(r"qwen.*", lambda name: ChatCompletions(name, base_url="http://127.0.0.1:8000/v1"))
        LlmRegistry.resolve("qwen3")

    Without a registration "local" is the embedded model, and any other name is a ChatCompletions at the base URL of
    the environment.
    """

    _lock: ClassVar[threading.RLock] = threading.RLock()
    _factories: ClassVar[list[tuple[re.Pattern[str], Factory]]] = []
    _models: ClassVar[dict[tuple[str, str], BaseLlm]] = {}

    @classmethod
    def register(cls, pattern: str, factory: Factory) -> None:
        """Names that match the regular expression as a whole are made by `factory(name)`. The latest one wins."""
        compiled = re.compile(pattern)
        with cls._lock:
            cls._factories.insert(0, (compiled, factory))
            for key in [key for key in cls._models if compiled.fullmatch(key[0])]:
                del cls._models[key]

    @classmethod
    def resolve(cls, name: str) -> BaseLlm:
        """The model of this name: the same object each time, while the environment's base URL is the same.

        Raises ConfigError when nothing is known about the name.
        """
        key = (name, _base_url())
        with cls._lock:
            model = cls._models.get(key)
            if model is None:
                model = cls._models[key] = cls._make(name)
            return model

    @classmethod
    def clear(cls) -> None:
        """Forget all registrations and models: for tests. The models are not closed."""
        with cls._lock:
            cls._factories.clear()
            cls._models.clear()

    @classmethod
    def _make(cls, name: str) -> BaseLlm:
        for pattern, factory in cls._factories:
            if pattern.fullmatch(name):
                return factory(name)
        if name == "local":
            from .local import LocalModel

            return LocalModel()
        if not _base_url():
            raise ConfigError(
                f"nothing is known about the model {name!r}: set RXAGENT_BASE_URL (and RXAGENT_API_KEY) to a "
                'chat-completions server, use model="local", or give a BaseLlm such as ChatCompletions(...)'
            )
        from .chat_completions import ChatCompletions

        return ChatCompletions(name)


def _base_url() -> str:
    return os.environ.get("RXAGENT_BASE_URL") or os.environ.get("OPENAI_BASE_URL") or ""
