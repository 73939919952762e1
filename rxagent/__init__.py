"""rxagent: an agent runtime in which a run is a cold Observable of events, and stopping it is a first-class act."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
    from .artifacts import BaseArtifactService, FileArtifactService, InMemoryArtifactService
    from .errors import RxAgentError, ToolError, UsageError
    from .events import Content, Event, EventActions, FunctionCall, FunctionResponse, Part, State
    from .flow import LlmEventSummarizer
    from .invocation import (
        AbortSignal,
        BaseEventSummarizer,
        CallbackContext,
        EventsCompactionConfig,
        InvocationContext,
        Outcome,
        ResumabilityConfig,
        RunConfig,
        ToolContext,
        Usage,
    )
    from .memory import BaseMemoryService, InMemoryMemoryService
    from .models import (
        BaseLlm,
        ChatCompletions,
        GenerateContentConfig,
        LlmRegistry,
        LlmRequest,
        LlmResponse,
        LocalModel,
    )
    from .plugins import BasePlugin
    from .runner import AgentTool, App, RunHandle, Runner
    from .sessions import BaseSessionService, InMemorySessionService, Question, Session, SqliteSessionService
    from .streams import CancelScope, EventStream, Single, SingleEmitter, Stopped, set_on_dropped_error
    from .tools import BaseTool, BaseToolset, FunctionTool, LongRunningFunctionTool

_HOMES = {
    "agents": ("BaseAgent", "LlmAgent", "LoopAgent", "ParallelAgent", "SequentialAgent"),
    "artifacts": ("BaseArtifactService", "FileArtifactService", "InMemoryArtifactService"),
    "errors": ("RxAgentError", "ToolError", "UsageError"),
    "events": ("Content", "Event", "EventActions", "FunctionCall", "FunctionResponse", "Part", "State"),
    "flow": ("LlmEventSummarizer",),
    "invocation": (
        "AbortSignal",
        "BaseEventSummarizer",
        "CallbackContext",
        "EventsCompactionConfig",
        "InvocationContext",
        "Outcome",
        "ResumabilityConfig",
        "RunConfig",
        "ToolContext",
        "Usage",
    ),
    "memory": ("BaseMemoryService", "InMemoryMemoryService"),
    "models": (
        "BaseLlm",
        "ChatCompletions",
        "GenerateContentConfig",
        "LlmRegistry",
        "LlmRequest",
        "LlmResponse",
        "LocalModel",
    ),
    "plugins": ("BasePlugin",),
    "runner": ("AgentTool", "App", "RunHandle", "Runner"),
    "sessions": ("BaseSessionService", "InMemorySessionService", "Question", "Session", "SqliteSessionService"),
    "streams": ("CancelScope", "EventStream", "Single", "SingleEmitter", "Stopped", "set_on_dropped_error"),
    "tools": ("BaseTool", "BaseToolset", "FunctionTool", "LongRunningFunctionTool"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__version__ = "0.1.0"

__all__ = [
    "AbortSignal",
    "AgentTool",
    "App",
    "BaseAgent",
    "BaseArtifactService",
    "BaseEventSummarizer",
    "BaseLlm",
    "BaseMemoryService",
    "BasePlugin",
    "BaseSessionService",
    "BaseTool",
    "BaseToolset",
    "CallbackContext",
    "CancelScope",
    "ChatCompletions",
    "Content",
    "Event",
    "EventActions",
    "EventStream",
    "EventsCompactionConfig",
    "FileArtifactService",
    "FunctionCall",
    "FunctionResponse",
    "FunctionTool",
    "GenerateContentConfig",
    "InMemoryArtifactService",
    "InMemoryMemoryService",
    "InMemorySessionService",
    "InvocationContext",
    "LlmAgent",
    "LlmEventSummarizer",
    "LlmRegistry",
    "LlmRequest",
    "LlmResponse",
    "LocalModel",
    "LongRunningFunctionTool",
    "LoopAgent",
    "Outcome",
    "ParallelAgent",
    "Part",
    "Question",
    "ResumabilityConfig",
    "RunConfig",
    "RunHandle",
    "Runner",
    "RxAgentError",
    "SequentialAgent",
    "Session",
    "Single",
    "SingleEmitter",
    "SqliteSessionService",
    "State",
    "Stopped",
    "ToolContext",
    "ToolError",
    "Usage",
    "UsageError",
    "set_on_dropped_error",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
