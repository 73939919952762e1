"""RunSource: the cold Observable behind `run_async`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from reactivex import Observable, abc
from reactivex.disposable import Disposable
from reactivex.scheduler import CurrentThreadScheduler

from rxagent.events import Event
from rxagent.streams.iteration import Door

from .run import Run
from .spec import RunSpec

__all__ = ["RunSource"]


@final
class RunSource(Observable[Event]):
    """Each subscription is a run of its own; assembling it does nothing.

    ::

        subscribe   -(turn)-(session)-(user event)-p-p-e-e|

    Disposal: never waits, never raises; nothing more is appended or emitted. Errors: on_error, once the work has ended
    or the grace is over. Threads: the run's worker; the place in the session's line is taken on the subscriber's.
    """

    def __init__(self, spec: RunSpec) -> None:
        super().__init__()
        self._spec = spec

    def launch(self, observer: abc.ObserverBase[Any], door: Door) -> Callable[[], None]:
        """Start at once, for a taker whose handle exists first; returns the dispose."""
        run = Run(self._spec, observer, door)
        run.start()
        return run.dispose

    def _subscribe_core(
        self, observer: abc.ObserverBase[Event], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        run = Run(self._spec, observer, None)
        CurrentThreadScheduler.singleton().schedule(run.start)  # after the chain below has linked its disposables
        return Disposable(run.dispose)
