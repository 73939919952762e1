"""Keeper: keeps the turns of a service's runs alive, and wakes those who wait for one."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, final
from weakref import WeakSet

from rxagent.streams import idle
from rxagent.streams.dropped import drop, guarded
from rxagent.streams.workers import workers

from .base import BaseSessionService
from .turn import OpenRun, StopRequest

__all__ = ["LEASE", "Keeper", "Settle", "end_idle_keepers", "keeper_of"]

LEASE = 10.0
"""Seconds that a turn of a shared store outlives the last sign of life of its owner."""

_LOOK = 0.5  # seconds between two looks for stop requests; renewals are made on the way
_RETRY = 0.2  # seconds between two attempts to get a turn
_IDLE = 5.0  # seconds without work after which the thread ends

Settle: TypeAlias = Callable[[Any], Any]
"""Turns what a service method returned into its value: awaits an awaitable, passes on all else."""


class _Held:
    """An open run and whom to tell."""

    __slots__ = ("on_lost", "on_stop")

    def __init__(self, on_stop: Callable[[str], object], on_lost: Callable[[], object]) -> None:
        self.on_stop = on_stop
        self.on_lost = on_lost


class _Waiter:
    """Somebody who waits for a turn. `trying`: an attempt is under way, the next one waits for its end."""

    __slots__ = ("attempt", "trying")

    def __init__(self, attempt: Callable[[], bool]) -> None:
        self.attempt = attempt
        self.trying = False


@final
class Keeper:
    """One daemon thread, `rxagent-keeper`, for all runs of a service; it runs only while it is needed.

    A service that is not shared needs no thread to hold a turn: stop requests are then handed on at once.
    settle: awaits what an asynchronous service returns.
    Threads: all methods from any thread; callbacks and attempts run on workers, callbacks of a service that is not
    shared on the thread that asks for the stop.
    """

    __slots__ = ("__weakref__", "_ending", "_held", "_service", "_settle", "_thread", "_waiters", "_wake")

    def __init__(self, service: BaseSessionService, settle: Settle | None = None) -> None:
        self._service = service
        self._settle: Settle = settle or _as_it_is
        self._forget()
        _keepers.add(self)

    def _forget(self) -> None:
        self._wake = threading.Condition()
        self._held: dict[OpenRun, _Held] = {}
        self._waiters: dict[object, _Waiter] = {}
        self._thread: threading.Thread | None = None
        self._ending = False

    def hold(self, run: OpenRun, on_stop: Callable[[str], object], on_lost: Callable[[], object]) -> Callable[[], None]:
        """Keep the run's turn alive until the returned function is called; do that before `close_run`.

        on_stop: called with the reason for each stop request. on_lost: called once when another run has the turn.
        """
        if not self._service.shared:
            return self._service.local_runs.listen(run, on_stop)
        with self._wake:
            self._held[run] = _Held(on_stop, on_lost)
            self._work()

        def release() -> None:
            self._held.pop(run, None)

        return release

    def wait(self, attempt: Callable[[], bool]) -> Callable[[], None]:
        """Call `attempt` on a worker every 0.2 s until it returns True, or until the returned function is called.

        Two attempts of one waiter never overlap. One that is under way when the wait is given up is not stopped:
        it must give back the turn that it gets. An attempt that raises is the last one; the error is dropped.
        """
        key = object()
        with self._wake:
            self._waiters[key] = _Waiter(attempt)
            self._work()

        def cancel() -> None:
            self._waiters.pop(key, None)

        return cancel

    @property
    def is_idle(self) -> bool:
        """True while no run is held and nobody waits."""
        return not self._held and not self._waiters

    def end(self) -> None:
        """End the thread when it has nothing to do, and wait until it is gone; the next run starts another."""
        self._stop(only_idle=True)

    def close(self) -> None:
        """Forget the runs and the waiters, end the thread and wait until it is gone."""
        with self._wake:
            self._held.clear()
            self._waiters.clear()
        self._stop(only_idle=False)

    def _stop(self, *, only_idle: bool) -> None:
        with self._wake:
            thread = self._thread
            if thread is None or (only_idle and not self.is_idle):
                return
            self._ending = True
            self._wake.notify()
        if thread is threading.current_thread():
            return
        while self._ending and thread.is_alive():  # a run that comes meanwhile keeps the thread
            thread.join(0.05)

    def _work(self) -> None:
        """Have the thread look at what was just registered; the lock is held."""
        if self._thread is None:
            thread = threading.Thread(target=self._keep, daemon=True, name="rxagent-keeper")
            thread.start()
            self._thread = thread
        self._ending = False
        self._wake.notify()

    def _keep(self) -> None:
        now = time.monotonic()
        next_look, next_try, last_busy = now + _LOOK, now + _RETRY, now
        while True:
            with self._wake:
                now = time.monotonic()
                if not self.is_idle:
                    last_busy = now
                elif self._ending or now >= last_busy + _IDLE:
                    self._thread, self._ending = None, False
                    return
                due = [last_busy + _IDLE]
                due += [next_look] if self._held else []
                due += [next_try] if self._waiters else []
                self._wake.wait(max(min(due) - now, 0.001))
                held, waiters = dict(self._held), dict(self._waiters)
            now = time.monotonic()
            if held and now >= next_look:
                self._look(held)
                next_look = time.monotonic() + _LOOK
            if waiters and now >= next_try:
                self._try(waiters)
                next_try = time.monotonic() + _RETRY

    def _look(self, held: dict[OpenRun, _Held]) -> None:
        try:
            requests: Iterable[StopRequest] = self._settle(self._service.renew(list(held), lease=LEASE))
        except Exception as error:  # the lease lasts longer than several looks: the next one may do better
            drop(error, "lease renewal")
            return
        found = {(request.key, request.run_id): request for request in requests}
        for run, told in held.items():
            request = found.get((run.key, run.run_id))
            if request is None:
                continue
            if request.lost:
                if self._held.pop(run, None) is not None:
                    _on_worker("lost turn", told.on_lost)
            else:
                _on_worker("stop request", told.on_stop, request.reason)

    def _try(self, waiters: dict[object, _Waiter]) -> None:
        for key, waiter in waiters.items():
            if waiter.trying or key not in self._waiters:
                continue
            waiter.trying = True
            try:
                workers.spawn(lambda key=key, waiter=waiter: self._attempt(key, waiter))  # type: ignore[misc]
            except RuntimeError:  # no thread to be had now; the next round tries again
                waiter.trying = False

    def _attempt(self, key: object, waiter: _Waiter) -> None:
        done = True
        try:
            if key in self._waiters:
                done = waiter.attempt()
        except Exception as error:
            drop(error, "wait for a turn")
        finally:
            if done:
                self._waiters.pop(key, None)
            waiter.trying = False


def keeper_of(service: BaseSessionService, settle: Settle | None = None) -> Keeper:
    """The service's keeper; the first caller's `settle` is kept."""
    found: Keeper | None = service.__dict__.get("_keeper")
    if found is not None:
        return found
    return service.__dict__.setdefault("_keeper", Keeper(service, settle))  # type: ignore[no-any-return]


def end_idle_keepers() -> None:
    """End the threads of all keepers that have nothing to do, and wait until they are gone."""
    for keeper in list(_keepers):
        keeper.end()


def _on_worker(where: str, callback: Callable[..., object], *args: object) -> None:
    try:
        workers.spawn(lambda: guarded(where, callback, *args))
    except RuntimeError:  # no thread to be had: better late for the others than never for this one
        guarded(where, callback, *args)


def _as_it_is(value: Any) -> Any:
    return value


def _forget_all() -> None:
    for keeper in list(_keepers):
        keeper._forget()


_keepers: WeakSet[Keeper] = WeakSet()
idle.register(end_idle_keepers)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)  # the threads and the turns stay with the parent
