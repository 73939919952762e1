"""Help for tests: of agents, of session services, and of rxagent itself."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .leaks import LeakError, no_leaks, quiesce
from .scripted_model import ScriptedModel, call, gate, pause, thought, usage

if TYPE_CHECKING:
    from .artifact_suite import ArtifactServiceSuite
    from .chat_server import ChatServer
    from .crash import CrashReport, crash_everywhere
    from .everywhere import CancelReport, cancel_everywhere
    from .quirks_corpus import quirk, quirks
    from .quirks_file import Quirk, load_quirk
    from .quirks_server import QuirkServer
    from .session_suite import SessionServiceSuite

__all__ = [
    "ArtifactServiceSuite",
    "CancelReport",
    "ChatServer",
    "CrashReport",
    "LeakError",
    "Quirk",
    "QuirkServer",
    "ScriptedModel",
    "SessionServiceSuite",
    "call",
    "cancel_everywhere",
    "crash_everywhere",
    "gate",
    "load_quirk",
    "no_leaks",
    "pause",
    "quiesce",
    "quirk",
    "quirks",
    "thought",
    "usage",
]

_LATER: Final = {  # what needs the runner, a server or pytest is loaded when it is asked for
    "ArtifactServiceSuite": "artifact_suite",
    "CancelReport": "everywhere",
    "ChatServer": "chat_server",
    "CrashReport": "crash",
    "Quirk": "quirks_file",
    "QuirkServer": "quirks_server",
    "SessionServiceSuite": "session_suite",
    "cancel_everywhere": "everywhere",
    "crash_everywhere": "crash",
    "load_quirk": "quirks_file",
    "quirk": "quirks_corpus",
    "quirks": "quirks_corpus",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return value
