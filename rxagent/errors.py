"""Every error that rxagent raises or emits, in one tree: what happened, and what to do next.

    RxAgentError
      UsageError      the caller's mistake; raised at the call
      RunError        a run reached a limit of its own
      ModelError      the model's server, the way to it, or what it sent
      ToolError       a tool's own words to the model
      SessionError    the log
      ProtocolError   a peer broke a wire protocol

Secrets (keys, Authorization headers) never stand in a message, an attribute or a repr.
"""

from __future__ import annotations

__all__ = [
    "AgentTreeChangedError",
    "AlreadyClaimedError",
    "AppendError",
    "ConfigError",
    "DuplicateToolError",
    "FencedError",
    "InstructionError",
    "LlmCallsLimitExceededError",
    "LocalModelError",
    "ModelAnswerError",
    "ModelAnswerTooLargeError",
    "ModelConnectError",
    "ModelConnectTimeoutError",
    "ModelEmptyAnswerError",
    "ModelError",
    "ModelFirstByteTimeoutError",
    "ModelHttpError",
    "ModelIdleTimeoutError",
    "ModelProtocolError",
    "ModelRequestError",
    "ModelStreamTruncatedError",
    "ModelTimeoutError",
    "ModelTlsError",
    "ModelTotalTimeoutError",
    "NameLookupError",
    "NotResumableError",
    "ProtocolError",
    "RunAbortedError",
    "RunError",
    "RunTimeoutError",
    "RxAgentError",
    "SessionBusyError",
    "SessionError",
    "SessionNotFoundError",
    "SpanningAnswersError",
    "StaleSessionError",
    "StoreCorruptError",
    "StoreError",
    "StoreFullError",
    "StoreReadOnlyError",
    "StoreVersionError",
    "TooManyOpenFilesError",
    "ToolError",
    "UnknownCallError",
    "UnknownInvocationError",
    "UsageError",
]


class RxAgentError(Exception):
    """The root of all errors of rxagent."""


# -- the caller's mistakes ---------------------------------------------------------------------------------------------


class UsageError(RxAgentError):
    """Raised when the caller asks for something that cannot work: fix the call."""


class NotResumableError(UsageError):
    """Raised when `invocation_id` is given and the app is not resumable."""


class UnknownCallError(UsageError):
    """Raised when a function response has no id, or one that matches no call of the session."""


class UnknownInvocationError(UsageError):
    """Raised when there is nothing to resume: an `invocation_id` that the session does not know, and no message."""


class SpanningAnswersError(UsageError):
    """Raised when the answers of one message belong to several invocations; answer each with a message of its own."""


class AgentTreeChangedError(UsageError):
    """Raised when an invocation is resumed and the agent that is to go on is not in the tree; `agent_name`."""

    def __init__(self, message: str, *, agent_name: str) -> None:
        super().__init__(message)
        self.agent_name = agent_name


class DuplicateToolError(UsageError):
    """Raised when two tools of one agent have the same name."""


class ConfigError(UsageError):
    """Raised when an agent, a tool, a model or an app is put together wrongly."""


# -- the run -----------------------------------------------------------------------------------------------------------


class RunError(RxAgentError):
    """Raised when a run ends by a limit of its own."""


class LlmCallsLimitExceededError(RunError):
    """Raised when a run asks for more model calls than `RunConfig.max_llm_calls`."""


class InstructionError(RunError):
    """Raised when a placeholder of an instruction names state or an artifact that is not there."""


class RunTimeoutError(RunError):
    """Raised, where an API must raise, when a run took longer than `RunConfig.timeout`."""


class RunAbortedError(RunError):
    """Raised, where an API must raise, when a run was aborted."""


# -- the model ---------------------------------------------------------------------------------------------------------


class ModelError(RxAgentError):
    """Raised when a model call fails; the subclasses say where."""


class ModelHttpError(ModelError):
    """Raised when the model's server answers with an error status.

    status: the HTTP status code. body: the start of the answer's text, without secrets. retry_after: seconds that the
    server asks to wait, None when it does not say.
    """

    def __init__(self, message: str, *, status: int, body: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = body
        self.retry_after = retry_after


class ModelAnswerError(ModelHttpError):
    """Raised when the server reports an error inside an answer that began with HTTP 200.

    status: the error's own code where that is an HTTP status, else the nearest one. code: its code or type, as sent.
    text: the answer's text so far.
    """

    def __init__(self, message: str, *, status: int, code: str = "", body: str = "", text: str = "") -> None:
        super().__init__(message, status=status, body=body)
        self.code = code
        self.text = text


class ModelConnectError(ModelError):
    """Raised when no connection to the model's server can be made (refused, reset, unreachable)."""


class NameLookupError(ModelConnectError):
    """Raised when the name of the model's server cannot be resolved."""


class ModelTlsError(ModelConnectError):
    """Raised when the TLS handshake with the model's server fails."""


class TooManyOpenFilesError(ModelConnectError):
    """Raised when the process has no file descriptor left for a model call."""


class ModelTimeoutError(ModelError):
    """Raised when a model call exceeds one of its time limits; `seconds` is the limit."""

    def __init__(self, message: str, *, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class ModelConnectTimeoutError(ModelTimeoutError):
    """Raised when connecting (name, TCP, TLS) took longer than the connect limit."""


class ModelFirstByteTimeoutError(ModelTimeoutError):
    """Raised when the first byte of the answer came later than the first-byte limit."""


class ModelIdleTimeoutError(ModelTimeoutError):
    """Raised when the server was silent in mid-answer for longer than the idle limit."""


class ModelTotalTimeoutError(ModelTimeoutError):
    """Raised when the whole model call took longer than the total limit."""


class ModelProtocolError(ModelError):
    """Raised when the server's answer is not what the chat-completions protocol says."""


class ModelAnswerTooLargeError(ModelProtocolError):
    """Raised when the server sends more than a limit of the answer allows.

    limit: which one (`line`, `event`, `body`, `answer`, the fields of WireLimits). most: the limit in bytes.
    """

    def __init__(self, message: str, *, limit: str, most: int) -> None:
        super().__init__(message)
        self.limit = limit
        self.most = most


class ModelStreamTruncatedError(ModelProtocolError):
    """Raised when an answer stops before its end. `text` is what had arrived."""

    def __init__(self, message: str, *, text: str = "") -> None:
        super().__init__(message)
        self.text = text


class ModelEmptyAnswerError(ModelProtocolError):
    """Raised when an answer ends well and says nothing: no text, no reasoning, no call."""


class ModelRequestError(ModelError):
    """Raised when a request holds what the model's server cannot take: a kind of input, or an option.

    what: the kind (`image`, `audio`, `file`) or the option's name.
    """

    def __init__(self, message: str, *, what: str) -> None:
        super().__init__(message)
        self.what = what


class LocalModelError(ModelError):
    """Raised when the local model cannot be served: what to install, or which file is missing."""


# -- tools -------------------------------------------------------------------------------------------------------------


class ToolError(RxAgentError):
    """Raise (or emit) it in a tool: its text becomes the error result that the model reads."""


# -- the log -----------------------------------------------------------------------------------------------------------


class SessionError(RxAgentError):
    """Raised when a session cannot be read or written."""


class SessionNotFoundError(SessionError):
    """Raised when the session does not exist and is not to be created."""


class SessionBusyError(SessionError):
    """Raised when another owner's run holds the session's turn."""


class AlreadyClaimedError(SessionError):
    """Raised when a call that a delivery answers was answered before; nothing was written."""


class StaleSessionError(SessionError):
    """Raised when events were appended behind the expected sequence number; nothing was written."""


class FencedError(SessionError):
    """Raised when a run has lost the session's turn to a later one; nothing was written."""


class AppendError(SessionError):
    """Raised when an event could not be stored."""


class StoreError(SessionError):
    """Raised when the file behind a session service cannot be used."""


class StoreReadOnlyError(StoreError, AppendError):
    """Raised when the file, or its folder, may not be written."""


class StoreFullError(StoreError, AppendError):
    """Raised when the disk is full: the event was not stored, the ones before it were."""


class StoreCorruptError(StoreError):
    """Raised when the file is no database, or a damaged one."""


class StoreVersionError(StoreError):
    """Raised when the file was written by a newer rxagent."""


# -- protocols ---------------------------------------------------------------------------------------------------------


class ProtocolError(RxAgentError):
    """Raised when a peer breaks the protocol that it speaks with rxagent."""
