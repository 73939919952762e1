"""Where a model's server is, and what it is told of the caller: addresses, keys, proxies."""

from __future__ import annotations

from typing import Any

import pytest

from rxagent.errors import (
    ConfigError,
    ModelHttpError,
)
from rxagent.models import ChatCompletions
from rxagent.testing.chat_server import (
    ChatServer,
    status,
    text,
)

from .calling import ask

SECRET = "sk-very-secret-0123456789"


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Server and key come from the environment when they are not given, rxagent's own names first."""
    with pytest.raises(ConfigError, match="RXAGENT_BASE_URL"):
        ChatCompletions("any")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:2/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "other")
    with ChatServer([text("fine")]) as server:
        monkeypatch.setenv("RXAGENT_BASE_URL", server.base_url)
        monkeypatch.setenv("RXAGENT_API_KEY", SECRET)
        model = ChatCompletions("any")
        ask(model)
        assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"
        model.close()


@pytest.mark.parametrize(
    ("base_url", "path"),
    [
        ("{}", "/chat/completions"),
        ("{}/v1", "/v1/chat/completions"),
        ("{}/v1/", "/v1/chat/completions"),
        ("{}/v1/chat/completions", "/v1/chat/completions"),
        ("{}/openai?api-version=1", "/openai/chat/completions?api-version=1"),
    ],
)
def test_base_url(base_url: str, path: str) -> None:
    """The path is appended where it is missing, ahead of a query."""
    with ChatServer([text("fine")]) as server:
        model = ChatCompletions("any", base_url.format(f"http://127.0.0.1:{server.port}"))
        ask(model)
        assert server.requests[0].path == path
        model.close()


@pytest.mark.parametrize("base_url", ["127.0.0.1:8000/v1", "ftp://x/v1", "http://", "http://x:port/v1", "http://[x/v1"])
def test_what_is_no_base_url(base_url: str) -> None:
    """What is no HTTP address is refused at once."""
    with pytest.raises(ConfigError, match="no HTTP address"):
        ChatCompletions("any", base_url)


@pytest.mark.parametrize("key", ["sk\nsecret", "sk-\u20ac-secret", "sk-\u00e9-secret"])
def test_what_is_no_key(key: str) -> None:
    """A key that no header can hold is refused at once, without being shown."""
    with pytest.raises(ConfigError, match="copied whole") as caught:
        ChatCompletions("any", "http://x/v1", key)
    assert "secret" not in str(caught.value)


def test_secrets_are_not_shown() -> None:
    """Neither key nor password nor a user's own headers stand in a repr or a message."""
    with ChatServer([status(400, {"error": {"message": f"{SECRET} hunter22 own-secret"}})]) as server:
        url = f"http://me:hunter22@127.0.0.1:{server.port}/v1"
        model = ChatCompletions("any", url, SECRET, headers={"X-Key": "own-secret"}, retries=0)
        assert repr(model) == f"<ChatCompletions 'any' at http://127.0.0.1:{server.port}/v1>"
        with pytest.raises(ModelHttpError, match=r"\*\*\* \*\*\* \*\*\*") as caught:
            ask(model)
        assert server.requests[0].headers["x-key"] == "own-secret"
        model.close()
    assert SECRET not in f"{caught.value!r} {vars(caught.value)}"


def test_environment_proxies_are_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment is not asked for this machine's own addresses, but for others."""
    with ChatServer([text("direct")]) as server, ChatServer([text("by proxy")]) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        model = ChatCompletions("any", server.base_url)
        other = ChatCompletions("any", "http://model.test/v1")
        assert [ask(asked)[-1].text for asked in (model, other)] == ["direct", "by proxy"]
        model.close()
        other.close()
    with pytest.raises(ConfigError, match="SOCKS"):
        ChatCompletions("any", "http://x/v1", proxies={"http": "socks5://x:1"})


def test_netrc_is_not_read(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A netrc entry for the host does not replace the key."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password other\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with ChatServer([text("fine")]) as server:
        model = ChatCompletions("any", server.base_url, SECRET)
        ask(model)
        assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"
        model.close()
