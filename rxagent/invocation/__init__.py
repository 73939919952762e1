"""One run, seen from inside: its configuration, its contexts, its outcome."""

from .callback_context import CallbackContext, ToolContext
from .context import Agent, InvocationContext
from .invocation import Invocation
from .outcome import Outcome, OutcomeKind, Usage
from .run_config import RunConfig, StreamingMode, ToolExecutionMode

__all__ = [
    "Agent",
    "CallbackContext",
    "Invocation",
    "InvocationContext",
    "Outcome",
    "OutcomeKind",
    "RunConfig",
    "StreamingMode",
    "ToolContext",
    "ToolExecutionMode",
    "Usage",
]
