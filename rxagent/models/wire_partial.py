"""Partial responses, made fast: there is one for each token."""

from __future__ import annotations

from typing import Final

from rxagent.events import Content, Part

from .response import LlmResponse

__all__ = ["partial_response"]

_TEXT: Final = Part(text="")
_THOUGHT: Final = Part(text="", thought=True)
_CONTENT: Final = Content(role="model", parts=())
_RESPONSE: Final = LlmResponse(content=None, partial=True)


def partial_response(thought: str, text: str) -> LlmResponse | None:
    """A partial response of these texts; None when both are empty.

    It is copied from a blank one: validating what this module itself puts in would take twice the time.
    """
    if thought:
        first = _THOUGHT.model_copy(update={"text": thought})
        parts = (first, _TEXT.model_copy(update={"text": text})) if text else (first,)
    elif text:
        parts = (_TEXT.model_copy(update={"text": text}),)
    else:
        return None
    return _RESPONSE.model_copy(update={"content": _CONTENT.model_copy(update={"parts": parts})})
