"""Help for tests: of agents, of session services, and of rxagent itself."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .leaks import LeakError, no_leaks, quiesce
from .scripted_model import ScriptedModel, call, gate, pause, thought, usage

if TYPE_CHECKING:
    from .artifact_suite import ArtifactServiceSuite
    from .chat_server import ChatServer
    from .everywhere import CancelReport, cancel_everywhere
    from .session_suite import SessionServiceSuite

__all__ = [
    "ArtifactServiceSuite",
    "CancelReport",
    "ChatServer",
    "LeakError",
    "ScriptedModel",
    "SessionServiceSuite",
    "call",
    "cancel_everywhere",
    "gate",
    "no_leaks",
    "pause",
    "quiesce",
    "thought",
    "usage",
]

_LATER: Final = {  # what needs the runner, a server or pytest is loaded when it is asked for
    "ArtifactServiceSuite": "artifact_suite",
    "CancelReport": "everywhere",
    "ChatServer": "chat_server",
    "SessionServiceSuite": "session_suite",
    "cancel_everywhere": "everywhere",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return value
