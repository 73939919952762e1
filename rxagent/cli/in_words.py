"""Events in words, one line each, and what a stop saved and lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from rxagent.events import Event, FunctionCall, FunctionResponse

__all__ = ["call_in_words", "event_in_words", "response_in_words", "stop_in_words"]

_LONG: Final = 200  # characters of a tool's result in a line


def call_in_words(call: FunctionCall) -> str:
    """`-> get_weather(city="Oslo")`"""
    arguments = ", ".join(f"{name}={_json(value)}" for name, value in (call.args or {}).items())
    return f"-> {call.name}({arguments})"


def response_in_words(response: FunctionResponse) -> str:
    """`<- get_weather: {"degrees": 21}`, cut when it is long."""
    text = _json(response.response or {})
    return f"<- {response.name}: {text if len(text) <= _LONG else text[: _LONG - 3] + '...'}"


def event_in_words(event: Event) -> str:
    """What the event says and does."""
    said = [part.text for part in event.parts if part.text and not part.thought]
    said += [call_in_words(call) for call in event.function_calls]
    said += [response_in_words(response) for response in event.function_responses]
    if event.error_code:
        said.append(f"{event.error_code}: {event.error_message or ''}".rstrip(": "))
    return "\n".join(said)


def stop_in_words(saved: Iterable[Event], lost: int) -> str:
    """`Stopped. Saved: your message. Lost: 212 characters of the unfinished answer.`

    saved: the events that the run stored. lost: characters that were shown and are in none of them.
    """
    kept = ", ".join(_counted(saved)) or "nothing"
    gone = f"{_number(lost, 'character')} of the unfinished answer" if lost else "nothing"
    return f"Stopped. Saved: {kept}. Lost: {gone}."


def _counted(events: Iterable[Event]) -> list[str]:
    """What the events hold: messages, answers, calls, results."""
    counts: Counter[str] = Counter()
    for event in events:
        if event.text:
            counts["message" if event.author == "user" else "answer"] += 1
        counts["call"] += len(event.function_calls)
        counts["result"] += len(event.function_responses)
    return ["your message" if noun == "message" else _number(n, noun) for noun, n in counts.items() if n]


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
