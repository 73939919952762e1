"""Nesting: which runs this code is part of, or serves as consumer, and the waits that would never end."""

from __future__ import annotations

from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING

from rxagent.errors import UsageError
from rxagent.streams.aio import current_taker, home_loop
from rxagent.streams.iteration import current_door, enclosing_scopes
from rxagent.streams.ledger import current_ledger

if TYPE_CHECKING:
    from .run import Run

__all__ = ["contexts_of", "inside", "live", "refuse_self_wait", "serving"]

inside: ContextVar[tuple[Run, ...]] = ContextVar("rxagent_inside", default=())
"""The runs that this code is part of: their tools, callbacks, hooks."""

serving: ContextVar[tuple[Run, ...]] = ContextVar("rxagent_serving", default=())
"""The runs whose consumer this code is."""


def live(runs: ContextVar[tuple[Run, ...]]) -> tuple[Run, ...]:
    """Those that have their turn. Only these are handed on, else chained turns would keep every earlier run."""
    return tuple(run for run in runs.get() if run.is_live)


def refuse_self_wait(run: Run) -> bool:
    """Raise UsageError when waiting for `run` here would be waiting for oneself. Subscribing is never refused.

    True while it waits for its turn: the run before it may come to wait for this code.
    """
    if run.turn != "new" and not inside.get() and not serving.get():
        return False  # the usual taker is outside of all runs
    around = (*live(inside), *live(serving))
    if run in around:
        raise UsageError("this code is part of the run that it waits for; subscribe instead of waiting")
    if run.turn != "new":
        return False
    if any(other.line is run.line for other in around):
        raise UsageError(
            "this code is part of, or the consumer of, a run of the same session, whose end the awaited run waits for; "
            "subscribe instead (it queues), or wait in on_completed"
        )
    door = getattr(run.line.holder, "door", None)
    if door is not None and door.is_starving and door.taker == current_taker():
        raise UsageError(
            "a run of the same session is being iterated here and has not been read to its end; "
            "finish or close that loop first"
        )
    return True


def contexts_of(run: Run) -> tuple[Context, Context]:
    """Where the run's code runs, and where its consumer's callbacks run: both as the subscriber left them."""
    work, consumer = copy_context(), copy_context()
    work.run(current_door.set, None)
    work.run(home_loop.set, run.door.loop)
    work.run(current_ledger.set, run.ledger)
    work.run(enclosing_scopes.set, (*enclosing_scopes.get(), run.scope))
    work.run(inside.set, (*live(inside), run))
    consumer.run(current_door.set, None)
    consumer.run(serving.set, (*live(serving), run))
    return work, consumer
