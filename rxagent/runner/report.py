"""Report: one structured log record per run."""

from __future__ import annotations

import logging

from rxagent.invocation import Invocation, Outcome

__all__ = ["report"]

_log = logging.getLogger("rxagent.run")


def report(invocation: Invocation, outcome: Outcome) -> None:
    """Log how the run ended, on the logger `rxagent.run`; the fields stand on the record under their own names."""
    _log.log(
        logging.WARNING if outcome.kind == "failed" else logging.INFO,
        "run %s of session %s: %s",
        invocation.id,
        invocation.session_id,
        outcome,
        extra={
            "app_name": invocation.app_name,
            "user_id": invocation.user_id,
            "session_id": invocation.session_id,
            "invocation_id": invocation.id,
            "outcome": outcome.kind,
            "reason": outcome.reason,
            "calls_sealed": outcome.calls_sealed,
            "events_saved": outcome.events_saved,
            "total_tokens": outcome.usage.total_tokens,
            "llm_calls": outcome.usage.llm_calls,
            "duration_ms": outcome.duration_ms,
        },
    )
