"""Tools: what a model may call."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .base import BaseTool
from .context import CallContext, TurnContext
from .exit_loop import exit_loop
from .function_tool import FunctionTool, ToolLike, as_tool
from .long_running import LongRunningFunctionTool
from .result import error_result, internal_error_result, to_result
from .toolset import BaseToolset, ToolFilter, as_tools

if TYPE_CHECKING:
    from .artifact_tools import LoadArtifactsTool, load_artifacts
    from .examples import BaseExampleProvider, Example, ExampleTool
    from .memory_tools import LoadMemoryTool, PreloadMemoryTool, load_memory, preload_memory
    from .process_tool import ProcessTool

__all__ = [
    "BaseExampleProvider",
    "BaseTool",
    "BaseToolset",
    "CallContext",
    "Example",
    "ExampleTool",
    "FunctionTool",
    "LoadArtifactsTool",
    "LoadMemoryTool",
    "LongRunningFunctionTool",
    "PreloadMemoryTool",
    "ProcessTool",
    "ToolFilter",
    "ToolLike",
    "TurnContext",
    "as_tool",
    "as_tools",
    "error_result",
    "exit_loop",
    "internal_error_result",
    "load_artifacts",
    "load_memory",
    "preload_memory",
    "to_result",
]

_LATER: Final = {  # tools that few agents have are loaded when they are asked for
    "BaseExampleProvider": "examples",
    "Example": "examples",
    "ExampleTool": "examples",
    "LoadArtifactsTool": "artifact_tools",
    "LoadMemoryTool": "memory_tools",
    "PreloadMemoryTool": "memory_tools",
    "ProcessTool": "process_tool",
    "load_artifacts": "artifact_tools",
    "load_memory": "memory_tools",
    "preload_memory": "memory_tools",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return value
