"""What stops a run from outside: its abort signal and its time limit; and the tail that an abort leaves in the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rxagent.errors import RunTimeoutError
from rxagent.flow.closing import closing_events
from rxagent.invocation import AbortSignal
from rxagent.streams.timer import timer

from .log import RunLog
from .watcher import watcher

if TYPE_CHECKING:
    import contextvars

    from .run import Run

__all__ = ["STORING", "attach_stops", "write_tail"]

STORING: Final = 1.0
"""Seconds beyond the grace that the tail of an aborted run has for its append."""


def attach_stops(run: Run, context: contextvars.Context) -> list[Callable[[], object]]:
    """Let the signal and the time limit of the run abort it, perhaps now. Returns what takes them back."""
    signal, seconds = run.spec.abort_signal, run.spec.run_config.timeout
    take_backs: list[Callable[[], object]] = []
    if isinstance(signal, AbortSignal):
        take_backs.append(signal.on_set(run.abort))
    elif signal is not None:
        take_backs.append(watcher.watch(signal, run.abort))
    if seconds is not None:
        error = RunTimeoutError(f"the run took longer than its {seconds} s; raise RunConfig.timeout, or give it less")
        take_backs.append(timer.after(seconds, lambda: run.abort_for("request_timeout", error=error), context))
    return take_backs


def write_tail(run: Run, log: RunLog, may_append: Callable[[], bool]) -> None:
    """Wait for the calls that run, at most the grace, then store and queue what ends the run's part of the log."""
    invocation, context, outcome = run.invocation, run.context, run.outcome
    reason = outcome.reason or "" if outcome is not None else ""
    invocation.calls.wait(run.spec.run_config.cancel_grace_period)
    if log.epoch is None or not run.opening.is_over:
        return  # it never had its turn, or has not come as far as storing its message
    author, branch = context.agent.name, context.branch
    log.append_tail(lambda: closing_events(invocation, author, branch, reason), context, may_append)
