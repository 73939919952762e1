"""Events in words, one line each, and what a stop saved and lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from rxagent.events import Event, FunctionCall, FunctionResponse
from rxagent.history.sealing import SEAL_STATUSES, is_seal
from rxagent.invocation import is_checkpoint
from rxagent.sessions import Question

__all__ = ["call_in_words", "event_in_words", "question_in_words", "response_in_words", "stop_in_words"]

_FORMAL: Final = "Please approve or reject the tool call "  # what a tool without words of its own asks
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
    if is_checkpoint(event):
        said.append(_checkpoint_in_words(event))
    return "\n".join(said)


def question_in_words(question: Question) -> str:
    """What the user is asked, with its call."""
    call = call_in_words(FunctionCall(name=question.name, args=question.args)).removeprefix("-> ")
    if question.kind == "answer":
        return f"{question.author} waits for the result of {call}"
    lines = [f"{question.author} asks: may it call {call}?"]
    if question.hint and not question.hint.startswith(_FORMAL):
        lines.append(question.hint)
    if question.payload is not None:
        lines.append(f"It offers: {_json(question.payload)}")
    return "\n".join(lines)


def _checkpoint_in_words(event: Event) -> str:
    if event.actions.end_of_agent:
        return "(finished)"
    name = (event.actions.agent_state or {}).get("current_sub_agent")
    return f"(goes on with {name})" if name else "(begins)"


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
        for response in event.function_responses:
            made_up = is_seal(event) and (response.response or {}).get("status") in SEAL_STATUSES
            counts["sealed call" if made_up else "result"] += 1
    return ["your message" if noun == "message" else _number(n, noun) for noun, n in counts.items() if n]


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
