"""ADK's JSON, as its API server sends it: camelCase, absent fields left out, times in seconds."""

from __future__ import annotations

import json
from typing import Any, Final

from rxagent.events import Event
from rxagent.invocation import Outcome
from rxagent.sessions import Question, Session

__all__ = ["dumps", "event_json", "outcome_json", "question_json", "session_json"]

_SECONDS: Final = 1000.0


def dumps(value: Any) -> bytes:
    """JSON text without line breaks, as a frame needs it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")


def event_json(event: Event) -> dict[str, Any]:
    """An event as ADK Python sends it; the log itself holds milliseconds, as ADK Java does."""
    fields = event.model_dump(mode="json", by_alias=True)
    fields["timestamp"] = event.timestamp / _SECONDS
    actions: dict[str, Any] = fields["actions"]
    actions.pop("deletedArtifactIds", None)  # ADK Java's; ADK Python's models refuse what they do not know
    if (compaction := actions.get("compaction")) is not None:
        for name in {"startTimestamp", "endTimestamp"} & compaction.keys():
            compaction[name] /= _SECONDS
    return fields


def session_json(session: Session, *, events: bool = True) -> dict[str, Any]:
    """A session, with its events or with none."""
    return {
        "id": session.id,
        "appName": session.app_name,
        "userId": session.user_id,
        "state": session.state,
        "events": [event_json(event) for event in session.events] if events else [],
        "lastUpdateTime": session.last_update_time / _SECONDS,
    }


def question_json(question: Question) -> dict[str, Any]:
    """An open question, and the messages that answer it."""
    fields: dict[str, Any] = {
        "kind": question.kind,
        "callId": question.call_id,
        "invocationId": question.invocation_id,
        "name": question.name,
        "args": question.args,
        "hint": question.hint,
        "payload": question.payload,
    }
    if question.kind == "confirmation":
        answers = {"approve": question.approve(), "reject": question.reject()}
    else:
        answers = {"answer": question.answer({})}
    fields |= {name: content.model_dump(mode="json", by_alias=True) for name, content in answers.items()}
    return {name: value for name, value in fields.items() if value is not None}


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """How a run ended."""
    usage = outcome.usage
    fields: dict[str, Any] = {
        "kind": outcome.kind,
        "reason": outcome.reason,
        "error": None if outcome.error is None else f"{type(outcome.error).__name__}: {outcome.error}",
        "eventsSaved": outcome.events_saved,
        "callsSealed": outcome.calls_sealed,
        "partialsDropped": outcome.partials_dropped,
        "durationMs": round(outcome.duration_ms, 3),
        "usage": {
            "llmCalls": usage.llm_calls,
            "promptTokens": usage.prompt_tokens,
            "candidatesTokens": usage.candidates_tokens,
            "totalTokens": usage.total_tokens,
        },
    }
    return {name: value for name, value in fields.items() if value is not None}
