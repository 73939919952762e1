"""Profiles by name, and by the address of a server."""

from __future__ import annotations

from urllib.parse import urlsplit

from rxagent.errors import ConfigError

from .profile import DEFAULT, Profile
from .profiles_known import SERVERS, for_model

__all__ = ["profile_for", "profile_named"]


def profile_for(base_url: str, model: str) -> Profile:
    """The profile for an address and a model. The host tells the server, else a port that only one kind uses."""
    try:
        parts = urlsplit(base_url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:  # no address at all, which others say better
        host, port = "", None
    by_host = next((server for server in SERVERS if server.hosts.fullmatch(host)), None)
    by_port = next((server for server in SERVERS if server.port is not None and server.port == port), None)
    server = by_host or by_port
    return for_model(DEFAULT if server is None else server.profile, model)


def profile_named(name: str, model: str) -> Profile:
    """The known profile `name`, for a model. Raises ConfigError, with the names that there are."""
    if name == DEFAULT.name:
        return for_model(DEFAULT, model)
    found = next((server.profile for server in SERVERS if server.profile.name == name), None)
    if found is None:
        names = ", ".join((DEFAULT.name, *(server.profile.name for server in SERVERS)))
        raise ConfigError(f"no profile is named {name!r}: there are {names}; or give a Profile(...)")
    return for_model(found, model)
