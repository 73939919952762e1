"""Summarizers: older events in fewer words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, final

from reactivex import Observable

from rxagent.errors import ConfigError
from rxagent.events import Content, Event, Part
from rxagent.invocation import BaseEventSummarizer
from rxagent.models import BaseLlm, LlmRegistry, LlmRequest, LlmResponse

__all__ = ["LlmEventSummarizer"]

_PLACE: Final = "{conversation_history}"
_PROMPT: Final = (
    "The following is a conversation history between a user and an AI agent. Please summarize the conversation, "
    "focusing on key information and decisions made, as well as any unresolved questions or tasks. The summary should "
    f"be concise and capture the essence of the interaction.\n\n{_PLACE}\n"
)


@final
class LlmEventSummarizer(BaseEventSummarizer):
    """Asks a model for the summary, in ADK's words. Its tokens count as the run's, its call does not.

    model: a BaseLlm, or a name for the registry. prompt_template: the question; `{conversation_history}` stands for
    the events. Raises ConfigError for a template without it.
    """

    def __init__(self, model: str | BaseLlm, prompt_template: str = _PROMPT) -> None:
        if _PLACE not in prompt_template:
            raise ConfigError(f"the prompt template of a summarizer needs {_PLACE}, where the events are to stand")
        self._model = model
        self._template = prompt_template

    def summarize_events(self, events: Sequence[Event]) -> Observable[LlmResponse]:
        """The model's answer."""
        model = self._model if isinstance(self._model, BaseLlm) else LlmRegistry.resolve(self._model)
        history = "\n".join(line for event in events for line in _lines(event))
        request = LlmRequest((Content.user(self._template.replace(_PLACE, history)),), model=model.model)
        return model.generate_content(request)


def _lines(event: Event) -> Iterator[str]:
    who = (event.content.role if event.content is not None else None) or event.author
    return (f"{who}: {words}" for part in event.parts if (words := _words(part)))


def _words(part: Part) -> str:
    if part.text:
        return "" if part.thought else part.text
    if (call := part.function_call) is not None:
        return f"[FUNCTION_CALL: {call.name or 'unknown'}({_json(call.args)})]"
    if (response := part.function_response) is not None:
        return f"[FUNCTION_RESPONSE: {response.name or 'unknown'} -> {_json(response.response)}]"
    return ""


def _json(value: dict[str, Any] | None) -> str:
    return json.dumps(value or {}, ensure_ascii=False, separators=(",", ":"), default=str)
