"""What a model answers."""

from __future__ import annotations

from typing import Any

from rxagent.events import Content, UsageMetadata, Value

__all__ = ["LlmResponse"]


class LlmResponse(Value):
    """A piece of a model's answer (`partial`), or the whole of it.

    One call of a model yields any number of partial responses and then, as a rule, one that is not partial and holds
    the whole content, the finish reason and the usage.
    """

    content: Content | None = None
    partial: bool | None = None
    turn_complete: bool | None = None
    error_code: str | None = None
    error_message: str | None = None
    finish_reason: str | None = None
    usage_metadata: UsageMetadata | None = None
    avg_logprobs: float | None = None
    interrupted: bool | None = None
    grounding_metadata: Any = None
    custom_metadata: dict[str, Any] | None = None
    model_version: str | None = None
    input_transcription: Any = None
    output_transcription: Any = None

    @property
    def text(self) -> str:
        """The text of the content, without thoughts."""
        return self.content.text if self.content is not None else ""
