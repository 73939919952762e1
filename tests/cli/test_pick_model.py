"""Which model answers."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from rxagent.cli.options import add_model_options
from rxagent.cli.pick_model import pick_model
from rxagent.errors import ConfigError, UsageError
from rxagent.models.base import BaseLlm
from rxagent.models.chat_completions import ChatCompletions
from rxagent.models.local import LocalModel
from rxagent.models.registry import LlmRegistry


def _picked(*arguments: str) -> BaseLlm:
    parser = argparse.ArgumentParser()
    add_model_options(parser)
    return pick_model(parser.parse_args(arguments))


@pytest.mark.parametrize("arguments", [(), ("--model", "local"), ("--model", "local", "--base-url", "http://x/v1")])
def test_the_local_model(arguments: tuple[str, ...], folder: Path) -> None:
    """Without anything, and by its name, it is the local model."""
    assert isinstance(_picked(*arguments), LocalModel)


def test_a_gguf_file(folder: Path) -> None:
    """The path of a GGUF file is served locally."""
    model = _picked("--model", "models/qwen3.gguf")
    assert isinstance(model, LocalModel)
    assert model.model == "qwen3"


def test_a_server_by_flags(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flags win over the environment."""
    monkeypatch.setenv("RXAGENT_MODEL", "other")
    monkeypatch.setenv("RXAGENT_BASE_URL", "http://127.0.0.1:2/v1")
    model = _picked("--model", "qwen3", "--base-url", "http://127.0.0.1:1/v1")
    assert isinstance(model, ChatCompletions)
    assert (model.model, model.base_url) == ("qwen3", "http://127.0.0.1:1/v1")


@pytest.mark.parametrize("variable", ["RXAGENT_BASE_URL", "OPENAI_BASE_URL"])
def test_a_server_by_environment(variable: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names model and server; both variables of the server do."""
    monkeypatch.setenv("RXAGENT_MODEL", "qwen3")
    monkeypatch.setenv(variable, "http://127.0.0.1:1/v1")
    model = _picked()
    assert isinstance(model, ChatCompletions)
    assert (model.model, model.base_url) == ("qwen3", "http://127.0.0.1:1/v1")


def test_a_key_alone_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that lies in the environment for another program sends nothing anywhere."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert isinstance(_picked(), LocalModel)


def test_a_server_without_a_model_and_a_model_without_a_server(folder: Path) -> None:
    """Half a choice is an error that says what to add."""
    with pytest.raises(UsageError, match="add --model NAME for the server http://x/v1"):
        _picked("--base-url", "http://x/v1")
    with pytest.raises(ConfigError, match="set RXAGENT_BASE_URL"):
        _picked("--model", "qwen3")


def test_a_name_that_the_agents_module_registered(folder: Path) -> None:
    """What is registered for a name is taken for --model too."""
    LlmRegistry.register("mine", lambda name: LocalModel(slots=1))
    try:
        assert isinstance(_picked("--model", "mine"), LocalModel)
    finally:
        LlmRegistry.clear()
