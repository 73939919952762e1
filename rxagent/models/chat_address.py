"""Where a model's server is and what opens its door; the key never leaves this object but in a header."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from rxagent.errors import ConfigError

__all__ = ["Address"]

_PATH: Final = "/chat/completions"
_HIDDEN: Final = "***"
_SHORTEST_SECRET: Final = 6  # a shorter one is no secret, and hiding it would garble messages


@final
class Address:
    """URL, headers, and the words by which both are spoken of without their secrets."""

    __slots__ = ("_secrets", "headers", "peer", "shown", "url")

    def __init__(
        self, base_url: str, api_key: str | None, headers: Mapping[str, str], *, key_header: str = "Authorization"
    ) -> None:
        parts = _parsed(base_url)
        self.peer = parts.netloc.rpartition("@")[2]
        path = parts.path.rstrip("/").removesuffix(_PATH)
        self.shown = urlunsplit((parts.scheme, self.peer, path, "", ""))
        self.url = urlunsplit((parts.scheme, parts.netloc, path + _PATH, parts.query, ""))
        self.headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "Accept-Encoding": "identity",  # a packed stream tends to be held back by what packs it
            "User-Agent": "rxagent",
        }
        if api_key:
            key = api_key.strip()
            self.headers[key_header] = f"Bearer {key}" if key_header == "Authorization" else key
        self.headers.update(headers)
        _check(self.headers)
        userinfo, _, _ = parts.netloc.rpartition("@")
        hidden = [api_key or "", userinfo, userinfo.partition(":")[2], parts.query, *_values(headers)]
        self._secrets = tuple(secret.strip() for secret in hidden if len(secret.strip()) >= _SHORTEST_SECRET)

    def redacted(self, text: str) -> str:
        """A text from outside without what this address must not show."""
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return text

    def __repr__(self) -> str:
        return f"<Address {self.shown}>"


def _parsed(base_url: str) -> SplitResult:
    try:
        parts = urlsplit(base_url.strip())
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        valid = False
    if not valid:
        raise ConfigError("base_url is no HTTP address; it looks like http://127.0.0.1:8000/v1")
    return parts


def _check(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        is_key = name.lower() in ("authorization", "api-key")
        try:
            fine = value.encode("latin-1").isascii() or not is_key
        except UnicodeEncodeError:
            fine = False
        if not fine or any(sign in value for sign in "\r\n\0"):
            what = "the API key" if is_key else f"the header {name!r}"
            raise ConfigError(f"{what} holds characters that no HTTP header may hold; was it copied whole?")


def _values(headers: Mapping[str, str]) -> list[str]:
    """What may be secret in a user's own headers: their values, and what follows `Bearer`."""
    return [part for value in headers.values() for part in (value, value.rpartition(" ")[2])]
