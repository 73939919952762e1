"""Profiles: which one an address and a model get, and that every row has a source."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from rxagent.errors import ConfigError
from rxagent.models import ChatCompletions, Profile
from rxagent.models.profile import DEFAULT
from rxagent.models.profiles import profile_for, profile_named
from rxagent.models.profiles_known import MODELS, SERVERS


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://eu.api.openai.com/v1", "openai"),
        ("https://me.openai.azure.com/openai/v1", "azure"),
        ("https://me.openai.azure.com/openai/deployments/d?api-version=2024-10-21", "azure"),
        ("https://me.services.ai.azure.com/models", "azure"),
        ("https://api.deepseek.com", "deepseek"),
        ("https://api.groq.com/openai/v1", "groq"),
        ("https://api.groq.com:1234/openai/v1", "groq"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://api.mistral.ai/v1", "mistral"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini"),
        ("https://us-central1-aiplatform.googleapis.com/v1/projects/p/endpoints/openapi", "gemini"),
        ("http://localhost:11434/v1", "ollama"),
        ("http://10.0.0.3:1234/v1", "lmstudio"),
        ("http://127.0.0.1:30000/v1", "sglang"),
        ("http://127.0.0.1:8000/v1", "default"),
        ("https://api.openai.com.evil.test/v1", "default"),
        ("https://notgroq.com/v1", "default"),
        ("no address", "default"),
        ("http://[x/v1", "default"),
    ],
)
def test_the_address_tells_the_server(url: str, name: str) -> None:
    """The host tells the server, else a port that only one kind uses; what is not known gets the default."""
    assert profile_for(url, "m").name == name


@pytest.mark.parametrize(
    ("model", "field", "value"),
    [
        ("o3-mini", "system_role", "developer"),
        ("o3-mini", "output_limit", "max_completion_tokens"),
        ("openai/o1", "system_role", "developer"),
        ("gpt-5.2-mini", "output_limit", "max_completion_tokens"),
        ("gpt-5", "system_role", "system"),
        ("gpt-4o", "output_limit", "max_tokens"),
        ("opus", "system_role", "system"),
        ("mistralai/Mistral-Nemo", "call_ids", "nine"),
        ("deepseek-v4-pro", "echo_reasoning", "tool_turns"),
        ("DeepSeek-R1", "echo_reasoning", "never"),
        ("moonshotai/Kimi-K2-Thinking", "echo_reasoning", "tool_turns"),
    ],
)
def test_the_name_tells_the_family(model: str, field: str, value: str) -> None:
    """A model's family wants the same of every server that nothing is known of; its maker's prefix does not count."""
    assert getattr(profile_for("http://127.0.0.1:8000/v1", model), field) == value


def test_families_of_other_servers() -> None:
    """A family's row holds at the servers that it names, and nowhere else."""
    assert profile_for("https://openrouter.ai/api/v1", "openai/o3").output_limit == "max_tokens"
    assert profile_for("https://openrouter.ai/api/v1", "mistralai/devstral").call_ids == "nine"
    assert profile_for("https://me.openai.azure.com/openai/v1", "o3").output_limit == "max_completion_tokens"


def test_every_row_has_a_source() -> None:
    """Each field of a known profile that differs from the default has a source; a family's row has one, too."""
    names = [server.profile.name for server in SERVERS]
    assert len(names) == len(set(names)) == 12
    for server in SERVERS:
        sources = dict(server.profile.sources)
        assert server.profile.changes().keys() <= sources.keys(), server.profile.name
        assert all(source.startswith(("https://", "policy: ", "run: ")) for source in sources.values()), (
            server.profile.name
        )
    assert all(row[2].startswith("https://") for family in MODELS for row in family.rows)
    for_model = profile_for("https://api.openai.com/v1", "o3")
    assert for_model.changes().keys() <= dict(for_model.sources).keys()


def test_ones_own_profile() -> None:
    """A profile is a frozen value; a user's own one, or a known one by name, goes before what the address tells."""
    mine = replace(profile_named("vllm", "m"), name="mine", echo_reasoning="always")
    assert (mine.reasoning_field, mine.echo_reasoning) == ("reasoning", "always")
    with pytest.raises(FrozenInstanceError):
        mine.name = "other"  # type: ignore[misc]
    url = "https://api.openai.com/v1"
    assert ChatCompletions("m", url, "key", profile=mine).profile is mine
    assert ChatCompletions("o3", url, "key", profile="vllm").profile == profile_named("vllm", "o3")
    assert ChatCompletions("m", url, "key").profile.name == "openai"
    assert profile_named("default", "m") == DEFAULT == Profile()
    with pytest.raises(ConfigError, match=r"llama\.cpp"):
        ChatCompletions("m", url, "key", profile="no such")


def test_the_key_goes_where_the_server_wants_it() -> None:
    """Azure takes the key in a header of its own; it is as hidden as ever."""
    url = "https://me.openai.azure.com/openai/deployments/d?api-version=2024-10-21"
    model = ChatCompletions("m", url, "sk-0123456789")
    headers = model._address.headers
    assert headers["api-key"] == "sk-0123456789"
    assert "Authorization" not in headers
    assert model._address.url.endswith("/deployments/d/chat/completions?api-version=2024-10-21")
    assert "sk-0123456789" not in repr(model)
    with pytest.raises(ConfigError, match="API key"):
        ChatCompletions("m", url, "sk-\u0107")
