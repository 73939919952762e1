"""Content: what is said, as a role and parts. The names are those of ADK (and of Google's genai types)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from .value import Base64, Value

__all__ = [
    "Blob",
    "CodeExecutionResult",
    "Content",
    "ExecutableCode",
    "FileData",
    "FunctionCall",
    "FunctionResponse",
    "Message",
    "Part",
]


class FunctionCall(Value):
    """A model's wish to call a tool. `id` is unique in its session once a run has received the call."""

    id: str | None = None
    name: str | None = None
    args: dict[str, Any] | None = None


class FunctionResponse(Value):
    """The answer to a call, paired with it by `id`."""

    id: str | None = None
    name: str | None = None
    response: dict[str, Any] | None = None


class Blob(Value):
    """Bytes inside the message; base64 in JSON, of either alphabet when read."""

    mime_type: str | None = None
    data: Base64 | None = None
    display_name: str | None = None


class FileData(Value):
    """A file elsewhere, by its URI."""

    mime_type: str | None = None
    file_uri: str | None = None
    display_name: str | None = None


class ExecutableCode(Value):
    """Code that the model wants to have run."""

    language: str | None = None
    code: str | None = None


class CodeExecutionResult(Value):
    """What running the code gave."""

    outcome: str | None = None
    output: str | None = None


class Part(Value):
    """One piece of a content: exactly one kind of payload, as a rule.

    `thought` marks reasoning: shown on request, never part of the answer's text. `thought_signature` is a model's
    own token, handed back to it unread.
    """

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    inline_data: Blob | None = None
    file_data: FileData | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    executable_code: ExecutableCode | None = None
    code_execution_result: CodeExecutionResult | None = None


class Content(Value):
    """A message: who speaks (`user` or `model`) and the parts."""

    role: str | None = None
    parts: tuple[Part, ...] | None = None

    @classmethod
    def user(cls, text: str) -> Content:
        """A user's text."""
        return cls(role="user", parts=(Part(text=text),))

    @classmethod
    def model(cls, text: str) -> Content:
        """A model's text."""
        return cls(role="model", parts=(Part(text=text),))

    @classmethod
    def of(cls, message: Message) -> Content:
        """What a caller may give as a message: a text, a Content, a Part, or several Parts.

        Raises TypeError for anything else. A Content without a role gets the role `user`.
        """
        if isinstance(message, str):
            return cls.user(message)
        if isinstance(message, Content):
            return message if message.role else message.model_copy(update={"role": "user"})
        if isinstance(message, Part):
            return cls(role="user", parts=(message,))
        if isinstance(message, Iterable) and not isinstance(message, (bytes, dict)):
            parts = tuple(message)
            if all(isinstance(part, Part) for part in parts):
                return cls(role="user", parts=parts)
        raise TypeError(
            f"a message is a text, a Content, or a list of Parts, not {type(message).__name__}; "
            "for several texts join them, or make one Part(text=...) of each"
        )

    @property
    def text(self) -> str:
        """The texts of all parts that are no thoughts, joined."""
        return "".join(part.text for part in self.parts or () if part.text and not part.thought)


Message: TypeAlias = str | Content | Part | Iterable[Part]
"""What a caller may give as a message."""
