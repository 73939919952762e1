"""Report: one structured log record per run; and one more for work that outlasted its run."""

from __future__ import annotations

import logging

from rxagent.invocation import Invocation, Outcome

__all__ = ["report", "report_late"]

_log = logging.getLogger("rxagent.run")
_late_log = logging.getLogger("rxagent.late")


def report(invocation: Invocation, outcome: Outcome) -> None:
    """Log how the run ended, on the logger `rxagent.run`; the fields stand on the record under their own names."""
    level = logging.WARNING if outcome.kind == "failed" else logging.INFO
    if not _log.isEnabledFor(level):
        return
    _log.log(
        level,
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


def report_late(invocation: Invocation) -> None:
    """Log that the last work of a run has ended after the run, on the logger `rxagent.late`."""
    _late_log.warning(
        "run %s of session %s: work that outlasted the grace period has ended now; its result was dropped",
        invocation.id,
        invocation.session_id,
        extra={"session_id": invocation.session_id, "invocation_id": invocation.id},
    )
