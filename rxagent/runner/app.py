"""App: a root agent and what belongs to all its runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rxagent.agents import BaseAgent
from rxagent.errors import ConfigError
from rxagent.plugins import BasePlugin

__all__ = ["App"]

_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class App:
    """A named root agent with its plugins.

    name: letters, digits and underscores; sessions belong to it. Raises ConfigError for a name that is none
    (ADK Java, App.Builder).
    """

    def __init__(self, name: str, root_agent: BaseAgent, *, plugins: Iterable[BasePlugin] = ()) -> None:
        if not _NAME.fullmatch(name):
            raise ConfigError(f"Invalid app name {name!r}: use letters, digits and underscores, not a digit first")
        if name == "user":
            raise ConfigError("App name cannot be 'user'; reserved for end-user input")
        if not isinstance(root_agent, BaseAgent):
            raise ConfigError(f"the root agent of app {name!r} is a {type(root_agent).__name__}; give it an LlmAgent")
        self.name = name
        self.root_agent = root_agent
        self.plugins = tuple(plugins)

    def __repr__(self) -> str:
        return f"<App {self.name}: {self.root_agent.name}>"
