"""RunSpec: what a run was asked to do, before anybody subscribes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rxagent.events import Content
from rxagent.invocation import AbortSignal, RunConfig
from rxagent.sessions import SessionKey

from .watcher import Readable

if TYPE_CHECKING:
    from .runner import Runner

__all__ = ["RunSpec"]


class RunSpec(NamedTuple):
    """The arguments of `run_async`, checked as far as they can be before the session is read."""

    runner: Runner
    key: SessionKey
    message: Content | None
    run_config: RunConfig
    state_delta: Mapping[str, Any]
    abort_signal: AbortSignal | Readable | None = None
    invocation_id: str | None = None
