"""Values: content, event, actions, state."""

from .actions import EventActions, EventCompaction, ToolConfirmation
from .confirmation import REQUEST_CONFIRMATION
from .content import (
    Blob,
    CodeExecutionResult,
    Content,
    ExecutableCode,
    FileData,
    FunctionCall,
    FunctionResponse,
    Message,
    Part,
)
from .event import Event, UsageMetadata, new_event_id, now_ms
from .state import APP_PREFIX, REMOVED, TEMP_PREFIX, USER_PREFIX, State
from .value import Base64, Milliseconds, Value

__all__ = [
    "APP_PREFIX",
    "REMOVED",
    "REQUEST_CONFIRMATION",
    "TEMP_PREFIX",
    "USER_PREFIX",
    "Base64",
    "Blob",
    "CodeExecutionResult",
    "Content",
    "Event",
    "EventActions",
    "EventCompaction",
    "ExecutableCode",
    "FileData",
    "FunctionCall",
    "FunctionResponse",
    "Message",
    "Milliseconds",
    "Part",
    "State",
    "ToolConfirmation",
    "UsageMetadata",
    "Value",
    "new_event_id",
    "now_ms",
]
