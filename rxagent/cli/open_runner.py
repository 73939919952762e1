"""The runner of a command: its agent, its model, its file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from rxagent.agents import BaseAgent, LlmAgent
from rxagent.invocation import ResumabilityConfig
from rxagent.runner import App, Runner
from rxagent.sessions import BaseSessionService, InMemorySessionService, SqliteSessionService

from .assistant import assistant
from .load import load_agent
from .options import APP_NAME
from .pick_model import pick_model

__all__ = ["open_runner"]


@contextmanager
def open_runner(arguments: argparse.Namespace) -> Iterator[Runner]:
    """A runner for what the arguments name, for the block.

    Raises UsageError when they name something that is not there, StoreError for a file that cannot be used.
    """
    agent = _agent(arguments)
    db: str | None = arguments.db
    service: BaseSessionService = InMemorySessionService() if db is None else SqliteSessionService(db)
    try:
        app = App(APP_NAME, agent, resumability_config=ResumabilityConfig(resumable=True))
        with Runner(app=app, session_service=service) as runner:
            yield runner
    finally:
        service.close()


def _agent(arguments: argparse.Namespace) -> BaseAgent:
    if arguments.agent is None:
        return assistant(pick_model(arguments))
    agent = load_agent(arguments.agent)
    is_named = bool(arguments.model or arguments.base_url)
    if isinstance(agent, LlmAgent) and (is_named or not agent.model):
        agent.model = pick_model(arguments)
    return agent
