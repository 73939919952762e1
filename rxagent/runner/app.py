"""App: a root agent and what belongs to all its runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rxagent.agents import BaseAgent, LlmAgent
from rxagent.errors import ConfigError
from rxagent.flow.compaction_summarizer import LlmEventSummarizer
from rxagent.invocation import EventsCompactionConfig, ResumabilityConfig
from rxagent.plugins import BasePlugin

__all__ = ["App"]

_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class App:
    """A named root agent with its plugins.

    name: letters, digits and underscores; sessions belong to it. events_compaction_config: older events are summarised
    for the models. resumability_config: how runs pause, and are gone on with; not at all, by default.

    Raises ConfigError for a name that is none (ADK Java, App.Builder), and for a compaction that has no model to
    summarise with.
    """

    def __init__(
        self,
        name: str,
        root_agent: BaseAgent,
        *,
        plugins: Iterable[BasePlugin] = (),
        events_compaction_config: EventsCompactionConfig | None = None,
        resumability_config: ResumabilityConfig | None = None,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise ConfigError(f"Invalid app name {name!r}: use letters, digits and underscores, not a digit first")
        if name == "user":
            raise ConfigError("App name cannot be 'user'; reserved for end-user input")
        if not isinstance(root_agent, BaseAgent):
            raise ConfigError(f"the root agent of app {name!r} is a {type(root_agent).__name__}; give it an LlmAgent")
        self.name = name
        self.root_agent = root_agent
        self.plugins = tuple(plugins)
        self.resumability_config = resumability_config or ResumabilityConfig()
        self.events_compaction_config = _with_summarizer(events_compaction_config, name, root_agent)

    def __repr__(self) -> str:
        return f"<App {self.name}: {self.root_agent.name}>"


def _with_summarizer(
    config: EventsCompactionConfig | None, name: str, root_agent: BaseAgent
) -> EventsCompactionConfig | None:
    """The config with the root agent's model as summarizer, when it has none."""
    if config is None or config.summarizer is not None:
        return config
    if not isinstance(root_agent, LlmAgent) or root_agent.model is None:
        raise ConfigError(
            f"app {name!r} is to summarise events, and its root agent has no model; "
            "give its EventsCompactionConfig a summarizer=LlmEventSummarizer(model)"
        )
    return config.summarized_by(LlmEventSummarizer(root_agent.model))
