"""The servers and models whose contract is known: one short table each, every row with the source of the fact."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, final

from .profile import DEFAULT, Profile

__all__ = ["MODELS", "SERVERS", "Family", "Server", "for_model"]

Row: TypeAlias = tuple[str, Any, str]  # a field of Profile, its value, and where that is documented or was seen

_NOTHING: Final[frozenset[str]] = frozenset()
_OWN: Final = "policy: a server gets back the unknown fields that its kind sends, and no others"


@final
@dataclass(frozen=True, slots=True)
class Server:
    """A kind of server: its profile, and how its address looks."""

    profile: Profile
    hosts: re.Pattern[str]
    port: int | None = None  # the one that it uses where nobody says otherwise; None when others use it as well


@final
@dataclass(frozen=True, slots=True)
class Family:
    """A family of models: rows that hold at these servers, at all when none is named, over the server's own."""

    names: re.Pattern[str]
    rows: tuple[Row, ...]
    servers: tuple[str, ...] = ()


def _server(name: str, hosts: str, *rows: Row, port: int | None = None) -> Server:
    return Server(_with(replace(DEFAULT, name=name), rows), re.compile(hosts), port)


def _with(profile: Profile, rows: tuple[Row, ...]) -> Profile:
    sources = {**dict(profile.sources), **{row[0]: row[2] for row in rows}}
    changes = {name: value for name, value, _ in rows}
    return replace(profile, **changes, sources=tuple(sources.items()))


_NOWHERE: Final = r"(?!)"  # no host tells it

SERVERS: Final = (
    _server(
        "openai",
        r"(.*\.)?api\.openai\.com",
        ("strict_schema", True, "https://platform.openai.com/docs/guides/structured-outputs"),
        ("call_ids", "forty", "https://github.com/microsoft/autogen/issues/6377"),
        ("extras", _NOTHING, _OWN),
    ),
    _server(
        "azure",
        r".*\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)",
        ("key_header", "api-key", "https://docs.boundaryml.com/docs/snippets/clients/providers/azure"),
        ("strict_schema", True, "https://platform.openai.com/docs/guides/structured-outputs"),
        ("call_ids", "forty", "https://github.com/microsoft/autogen/issues/6377"),
        ("extras", _NOTHING, _OWN),
    ),
    _server(
        "deepseek",
        r"(.*\.)?deepseek\.com",
        ("echo_reasoning", "tool_turns", "https://api-docs.deepseek.com/guides/thinking_mode"),
        ("reasoning_required", True, "https://github.com/vercel/ai/pull/13203"),
        ("json_shapes", "object", "https://github.com/BerriAI/litellm/pull/31466"),
        ("inputs", _NOTHING, "https://github.com/yilewang/llm-for-zotero/issues/143"),
        ("extras", _NOTHING, _OWN),
    ),
    _server(
        "groq",
        r"(.*\.)?groq\.com",
        ("refused", frozenset({"logprobs", "logit_bias", "top_logprobs"}), "https://console.groq.com/docs/openai"),
        ("extras", _NOTHING, _OWN),
    ),
    _server(
        "openrouter",
        r"(.*\.)?openrouter\.ai",
        ("echo_reasoning", "tool_turns", "https://openrouter.ai/docs/guides/best-practices/reasoning-tokens"),
        ("reasoning_field", "reasoning", "https://openrouter.ai/docs/guides/best-practices/reasoning-tokens"),
        ("extras", frozenset({"reasoning_details"}), "https://github.com/RooCodeInc/Roo-Code/pull/9506"),
        ("call_ids", "forty", "https://github.com/openclaw/openclaw/pull/875"),
    ),
    _server(
        "mistral",
        r"(.*\.)?mistral\.ai",
        ("call_ids", "nine", "https://github.com/langchain-ai/langchain/pull/24668"),
        ("stream_usage", False, "https://github.com/dnakov/anon-kode/issues/53"),
        ("output_limit", "max_tokens", "https://github.com/editor-code-assistant/eca/issues/231"),
        ("echo_reasoning", "never", "https://github.com/charmbracelet/crush/issues/1590"),
        ("extras", _NOTHING, "https://github.com/charmbracelet/crush/issues/1590"),
    ),
    _server(
        "gemini",
        r"(.*\.)?(generativelanguage|aiplatform)\.googleapis\.com|.*-aiplatform\.googleapis\.com",
        ("extras", frozenset({"extra_content"}), "https://ai.google.dev/gemini-api/docs/thought-signatures"),
        (
            "refused",
            frozenset({"frequency_penalty", "top_k"}),
            "https://github.com/MinLL/SkyrimNet-GamePlugin/issues/77",
        ),
    ),
    _server(
        "ollama",
        r"(.*\.)?ollama\.com",
        ("inputs", frozenset({"image"}), "https://github.com/ollama/ollama/issues/6753"),
        ("extras", _NOTHING, _OWN),
        port=11434,
    ),
    _server(
        "lmstudio",
        _NOWHERE,
        ("content_beside_calls", "empty", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/261"),
        ("json_shapes", "schema", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/189"),
        ("extras", _NOTHING, _OWN),
        port=1234,
    ),
    _server(
        "sglang",
        _NOWHERE,
        ("content_beside_calls", "empty", "https://github.com/sgl-project/sglang/issues/4236"),
        ("extras", _NOTHING, _OWN),
        port=30000,
    ),
    _server(
        "vllm",
        _NOWHERE,
        ("reasoning_field", "reasoning", "https://docs.vllm.ai/en/v0.17.1/features/interleaved_thinking/"),
        (
            "inputs",
            frozenset({"image", "image_url", "audio", "audio_url", "video_url"}),
            "https://docs.vllm.ai/en/v0.9.2/examples/online_serving/openai_chat_completion_client_for_multimodal.html",
        ),
        ("extras", _NOTHING, _OWN),
    ),
    _server(
        "llama.cpp",
        _NOWHERE,
        ("inputs", frozenset({"image", "image_url", "audio"}), 'run: 400 "unsupported content[].type" for a file'),
        ("extras", _NOTHING, _OWN),
    ),
)
"""The known kinds of servers. vLLM (8000) and llama.cpp (8080) use ports that many others use: name them."""

MODELS: Final = (
    Family(
        re.compile(r"(o\d+|gpt-[5-9])([-.].*)?"),
        (("output_limit", "max_completion_tokens", "https://github.com/pydantic/pydantic-ai/issues/1205"),),
        ("default", "openai", "azure"),
    ),
    Family(
        re.compile(r"o\d+(-.*)?"),
        (("system_role", "developer", "https://community.openai.com/t/1110750"),),
        ("default", "openai", "azure"),
    ),
    Family(
        re.compile(r"(mistral|mixtral|ministral|devstral|codestral|magistral|pixtral|open-mi[sx]tral).*"),
        (("call_ids", "nine", "https://github.com/openclaw/openclaw/issues/57672"),),
    ),
    Family(
        re.compile(r"deepseek-(v3\.2|v[4-9]|flash|reasoner|chat).*"),
        (
            ("echo_reasoning", "tool_turns", "https://github.com/warpdotdev/warp/issues/11587"),
            ("reasoning_required", True, "https://github.com/vercel/ai/pull/13203"),
        ),
        ("default",),
    ),
    Family(
        re.compile(r"kimi-k2-thinking.*|minimax-m2.*"),
        (("echo_reasoning", "tool_turns", "https://docs.vllm.ai/en/v0.17.1/features/interleaved_thinking/"),),
        ("default", "vllm", "sglang"),
    ),
)
"""Families of models that want the same of every server that serves them, or of some."""


def for_model(profile: Profile, model: str) -> Profile:
    """The profile with what the model's family wants. The name counts from its last slash: `openai/o3` is `o3`."""
    name = model.rpartition("/")[2].lower()
    for family in MODELS:
        if family.names.fullmatch(name) and (not family.servers or profile.name in family.servers):
            profile = _with(profile, family.rows)
    return profile
