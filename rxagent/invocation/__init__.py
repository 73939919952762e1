"""One run, seen from inside: its configuration, its contexts, its outcome."""

from .abort_signal import AbortSignal, StopDepth
from .call_book import CallBook, Landing
from .callback_context import CallbackContext, ToolContext
from .compaction_config import BaseEventSummarizer, EventsCompactionConfig
from .context import Agent, InvocationContext
from .invocation import Invocation
from .outcome import Outcome, OutcomeKind, Usage
from .progress import Progress, Standing, is_checkpoint
from .resumability import ResumabilityConfig
from .run_config import RunConfig, StreamingMode, ToolExecutionMode
from .soft_stop import SoftStop

__all__ = [
    "AbortSignal",
    "Agent",
    "BaseEventSummarizer",
    "CallBook",
    "CallbackContext",
    "EventsCompactionConfig",
    "Invocation",
    "InvocationContext",
    "Landing",
    "Outcome",
    "OutcomeKind",
    "Progress",
    "ResumabilityConfig",
    "RunConfig",
    "SoftStop",
    "Standing",
    "StopDepth",
    "StreamingMode",
    "ToolContext",
    "ToolExecutionMode",
    "Usage",
    "is_checkpoint",
]
