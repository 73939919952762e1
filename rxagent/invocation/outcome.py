"""Outcome: how a run ended."""

from __future__ import annotations

import time
from typing import Literal

from rxagent.events import UsageMetadata

__all__ = ["Outcome", "OutcomeKind", "Usage"]

OutcomeKind = Literal["completed", "paused", "aborted", "disposed", "failed"]


class Usage:
    """The tokens of all model calls of a run, added up."""

    __slots__ = ("candidates_tokens", "llm_calls", "prompt_tokens", "total_tokens")

    def __init__(self) -> None:
        self.llm_calls = 0
        self.prompt_tokens = 0
        self.candidates_tokens = 0
        self.total_tokens = 0

    def add(self, usage: UsageMetadata) -> None:
        """Add what one model call used."""
        prompt, candidates = usage.prompt_token_count or 0, usage.candidates_token_count or 0
        self.prompt_tokens += prompt
        self.candidates_tokens += candidates
        self.total_tokens += usage.total_token_count or prompt + candidates

    def __repr__(self) -> str:
        return f"<Usage {self.llm_calls} model calls, {self.total_tokens} tokens>"


class Outcome:
    """How a run ended: exactly one kind per run.

    kind and reason are fixed when the fate is decided; the counts and times when the last work has ended.

    events_saved: final events of the run that were stored, the user's not counted. calls_sealed: open calls of
    earlier runs that got a synthetic response. partials_dropped: partial events whose whole was never stored.
    duration_ms: from the subscription to the end. stop_ms: from the decision to the end.
    """

    __slots__ = (
        "_decided_at",
        "calls_sealed",
        "duration_ms",
        "error",
        "events_saved",
        "kind",
        "partials_dropped",
        "reason",
        "stop_ms",
        "usage",
    )

    def __init__(
        self, kind: OutcomeKind, usage: Usage, reason: str | None = None, error: BaseException | None = None
    ) -> None:
        self.kind: OutcomeKind = kind
        self.reason = reason
        self.usage = usage
        self.error = error
        self.events_saved = 0
        self.calls_sealed = 0
        self.partials_dropped = 0
        self.duration_ms = 0.0
        self.stop_ms = 0.0
        self._decided_at = time.perf_counter()

    def end(self, began: float) -> None:
        """The last work has ended; `began`: when the run was subscribed (perf_counter seconds)."""
        now = time.perf_counter()
        self.duration_ms, self.stop_ms = (now - began) * 1e3, (now - self._decided_at) * 1e3

    def __str__(self) -> str:
        counts = [
            f"{number} {noun}{'' if number == 1 else 's'} {what}"
            for number, noun, what in (
                (self.events_saved, "event", "saved"),
                (self.calls_sealed, "call", "sealed"),
                (self.partials_dropped, "partial", "dropped"),
            )
            if number or noun == "event"
        ]
        took = self.duration_ms if self.kind in ("completed", "paused") else self.stop_ms
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.kind}{why}: {', '.join(counts)}, {took:.1f} ms"

    def __repr__(self) -> str:
        return f"<Outcome {self}>"
