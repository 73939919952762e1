"""LlmRegistry: what a model's name means."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rxagent.errors import ConfigError
from rxagent.models import ChatCompletions, LlmRegistry, LocalModel
from rxagent.testing import ScriptedModel


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A registry and an environment that know nothing."""
    monkeypatch.delenv("RXAGENT_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    LlmRegistry.clear()
    yield
    LlmRegistry.clear()


def test_local() -> None:
    """`local` is the embedded model, the same object each time."""
    assert isinstance(LlmRegistry.resolve("local"), LocalModel)
    assert LlmRegistry.resolve("local") is LlmRegistry.resolve("local")


def test_a_server_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other name is asked at the environment's server, and again when that changes."""
    with pytest.raises(ConfigError, match=r"'qwen3'.*RXAGENT_BASE_URL"):
        LlmRegistry.resolve("qwen3")
    monkeypatch.setenv("RXAGENT_BASE_URL", "http://one.test/v1")
    model = LlmRegistry.resolve("qwen3")
    assert isinstance(model, ChatCompletions)
    assert (model.model, model.base_url) == ("qwen3", "http://one.test/v1")
    assert LlmRegistry.resolve("qwen3") is model
    monkeypatch.setenv("RXAGENT_BASE_URL", "http://two.test/v1")
    assert LlmRegistry.resolve("qwen3") is not model


def test_registered() -> None:
    """A registered pattern is matched as a whole; the latest registration wins, also over what was made before."""
    first, second = ScriptedModel(["a"]), ScriptedModel(["b"])
    LlmRegistry.register("qwen.*", lambda name: first)
    assert LlmRegistry.resolve("qwen3") is first
    LlmRegistry.register("qwen3", lambda name: second)
    assert LlmRegistry.resolve("qwen3") is second
    assert LlmRegistry.resolve("qwen2") is first
    with pytest.raises(ConfigError):
        LlmRegistry.resolve("my-qwen")
