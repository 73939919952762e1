"""Metrics: counters of a server, as prometheus text (exposition format 0.0.4)."""

from __future__ import annotations

from collections import Counter
from typing import Final, final

from rxagent.events import Event
from rxagent.invocation import Outcome

__all__ = ["Metrics"]

_KNOWN_REASONS: Final = frozenset(
    {"user_stop", "client_disconnect", "request_timeout", "worker_shutdown", "interrupted", "superseded", ""}
)
_BUCKETS: Final = (0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0)


@final
class Metrics:
    """Counts. On one event loop, so without a lock.

    Reasons that are a caller's own text are counted as `other`: a label must not have endless values.
    """

    __slots__ = ("_buckets", "_events", "_runs", "_seconds", "_started", "_tokens", "reader_partials_dropped")

    def __init__(self) -> None:
        self._started: Counter[str] = Counter()
        self._runs: Counter[tuple[str, str, str]] = Counter()
        self._events: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._buckets: Counter[float] = Counter()
        self._seconds = 0.0
        self.reader_partials_dropped = 0

    def started(self, app_name: str) -> None:
        """A run has started."""
        self._started[app_name] += 1

    def event(self, event: Event) -> None:
        """A run has emitted an event."""
        self._events["partial" if event.partial else "stored"] += 1

    def ended(self, app_name: str, outcome: Outcome) -> None:
        """A run has ended."""
        reason = outcome.reason or ""
        if outcome.kind == "failed" or reason not in _KNOWN_REASONS:
            reason = "" if outcome.kind == "failed" else "other"
        self._runs[app_name, outcome.kind, reason] += 1
        self._tokens["prompt"] += outcome.usage.prompt_tokens
        self._tokens["candidates"] += outcome.usage.candidates_tokens
        seconds = outcome.duration_ms / 1e3
        self._seconds += seconds
        for bound in _BUCKETS:
            self._buckets[bound] += seconds <= bound

    def text(self, live: Counter[str], readers: int) -> str:
        """All of it. live: runs by state. readers: open event streams."""
        ended = sum(self._runs.values())
        lines: list[str] = []
        _add(
            lines, "runs_started_total", "counter", "Runs started.", {_labels(app=a): n for a, n in _of(self._started)}
        )
        outcomes = {_labels(app=a, outcome=kind, reason=why): n for (a, kind, why), n in sorted(self._runs.items())}
        _add(lines, "runs_ended_total", "counter", "Runs ended, by outcome.", outcomes)
        _add(lines, "runs_live", "gauge", "Runs that have not ended.", {_labels(state=s): n for s, n in _of(live)})
        _add(lines, "readers", "gauge", "Open event streams.", {"": readers})
        events = {_labels(kind=kind): n for kind, n in _of(self._events)}
        _add(lines, "events_total", "counter", "Events emitted by runs.", events)
        dropped = {"": self.reader_partials_dropped}
        _add(lines, "reader_partials_dropped_total", "counter", "Partial events lost by slow readers.", dropped)
        _add(lines, "tokens_total", "counter", "Tokens used.", {_labels(kind=k): n for k, n in _of(self._tokens)})
        _add(lines, "run_seconds", "histogram", "Duration of runs.", {})
        lines += [f'rxagent_run_seconds_bucket{{le="{bound}"}} {self._buckets[bound]}' for bound in _BUCKETS]
        lines += [
            f'rxagent_run_seconds_bucket{{le="+Inf"}} {ended}',
            f"rxagent_run_seconds_sum {self._seconds:.6f}",
            f"rxagent_run_seconds_count {ended}",
        ]
        return "\n".join(lines) + "\n"


def _of(counter: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counter.items())


def _add(lines: list[str], name: str, kind: str, words: str, values: dict[str, int]) -> None:
    lines += [f"# HELP rxagent_{name} {words}", f"# TYPE rxagent_{name} {kind}"]
    lines += [f"rxagent_{name}{labels} {value}" for labels, value in values.items()]


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
