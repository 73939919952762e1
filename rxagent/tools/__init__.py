"""Tools: what a model may call."""

from .base import BaseTool
from .context import CallContext, TurnContext
from .exit_loop import exit_loop
from .function_tool import FunctionTool, ToolLike, as_tool
from .long_running import LongRunningFunctionTool
from .result import error_result, internal_error_result, to_result
from .toolset import BaseToolset, ToolFilter

__all__ = [
    "BaseTool",
    "BaseToolset",
    "CallContext",
    "FunctionTool",
    "LongRunningFunctionTool",
    "ToolFilter",
    "ToolLike",
    "TurnContext",
    "as_tool",
    "error_result",
    "exit_loop",
    "internal_error_result",
    "to_result",
]
