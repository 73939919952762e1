"""Trial: one run of a scenario, stopped at one instant or not at all, the turn that follows it, and what was wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import dropwhile
from typing import Any, Final, NamedTuple, final

from reactivex import Observer

from rxagent.errors import LlmCallsLimitExceededError
from rxagent.events import Content, Event
from rxagent.events.pairing import open_calls
from rxagent.history.sealing import is_seal
from rxagent.invocation import AbortSignal, OutcomeKind, RunConfig
from rxagent.plugins import PluginManager
from rxagent.runner import Runner
from rxagent.streams import CancelScope, settle

from .invariants import log_faults, request_faults
from .leaks import quiesce
from .probe import Probe, ProbePlugin, watched_service
from .stops import DEPTHS, REASON, How, Left, Logged, abort_faults, abort_log_faults, brief, dispose_faults

__all__ = ["AFTER_THE_END", "AT_ONCE", "NOT_AGAIN", "Scenario", "Tried", "try_once"]

AT_ONCE: Final = "subscribe 1 returned"
AFTER_THE_END: Final = "run 1 over"
NOT_AGAIN: Final = "the scenario did not come to this instant again; it must do the same each time"

_NEXT: Final = "And now go on, please."
_ANSWER: Final = "Understood."
SLOW = 1.0  # seconds in which a stop must have returned; far more than it takes
_NEXT_CALLS: Final = 50  # a loop agent without a limit of its own must not make the next turn endless


class Scenario(NamedTuple):
    """What is run; the fields are the arguments of cancel_everywhere."""

    make_runner: Callable[[], Runner]
    message: Content
    run_config: RunConfig
    user_id: str
    state: Mapping[str, Any]
    events: tuple[Event, ...]
    timeout: float


class Tried(NamedTuple):
    """What one trial showed. kind: the outcome of the run; None when it has not ended. saved: its events in the log."""

    points: list[str]
    faults: list[str]
    stop_took: float
    kind: OutcomeKind | None
    saved: int


def try_once(
    scenario: Scenario,
    session_id: str,
    stop_at: str | None = None,
    reference: Tried | None = None,
    how: How = "dispose",
) -> Tried:
    """Run the scenario on a fresh runner, stopped at `stop_at`, and then the next turn on the same session."""
    before = _own_threads()
    runner = scenario.make_runner()
    try:
        trial = _Trial(scenario, runner, session_id, stop_at, how)
        trial.run(reference)
        if trial.ended:
            trial.take_next_turn(reference)
    finally:
        runner.close()
    trial.faults += [f"a thread is left at work: {name}" for name in _left_at_work(before, trial.ended)]
    return Tried(trial.probe.points, trial.faults, trial.probe.stop_took, trial.kind, trial.saved)


@final
class _Consumer:
    """Takes a run's events, and counts them as instants."""

    def __init__(self, probe: Probe) -> None:
        self.finals: list[Event] = []
        self.late: list[str] = []
        self.error: Exception | None = None
        self.ended = threading.Event()
        self._probe = probe
        self._may_be_on_its_way = True

    def on_next(self, event: Event) -> None:
        what = "partial" if event.partial else "event"
        if not event.partial:
            self.finals.append(event)
        if self._probe.is_stopped:
            self._came_late(f"{what} of {event.author}")
        self._probe.reach(what, "delivered")

    def on_error(self, error: Exception) -> None:
        self.error = error
        self._end("on_error")

    def on_completed(self) -> None:
        self._end("on_completed")

    def _end(self, how: str) -> None:
        if self._probe.is_stopped:
            self._came_late(how)
        self._probe.reach("end", "delivered")
        self.ended.set()

    def _came_late(self, what: str) -> None:
        """A stop on another thread may meet one call that was just being entered."""
        if self._may_be_on_its_way and self._probe.stopped_on != threading.get_ident():
            self._may_be_on_its_way = False
        else:
            self.late.append(what)


@final
class _Trial:
    def __init__(self, scenario: Scenario, runner: Runner, session_id: str, stop_at: str | None, how: How) -> None:
        self.probe = Probe(stop_at, appends_go_on=how != "dispose")
        self.saved = 0
        self._how = how
        self.faults: list[str] = []
        self.ended = False
        self.kind: OutcomeKind | None = None
        self._scenario = scenario
        self._runner = runner
        self._session_id = session_id
        self._stop_at = stop_at
        self._own_plugins = runner.plugins.plugins

    # -- the run -------------------------------------------------------------------------------------------------------

    def run(self, reference: Tried | None) -> None:
        """Run the scenario and check what it left."""
        self._prepare_session()
        plugin, consumer = self._equip(self.probe), _Consumer(self.probe)
        with plugin.watching, watched_service(self._runner.session_service, self.probe):
            signal = AbortSignal()
            dispose = self._subscribe(self._scenario.message, self._scenario.run_config, consumer, signal)
            depth = DEPTHS.get(self._how)
            self.probe.arm(dispose if depth is None else lambda: signal.set(REASON, after=depth))
            if self._stop_at == AT_ONCE:
                self.probe.stop_now()
            self.ended = self._wait(plugin, consumer)
            if self._stop_at == AFTER_THE_END:
                self.probe.stop_now()
        if not self.ended:
            self.faults.append(f"the run has not ended after {self._scenario.timeout} s")
            return
        self.kind = plugin.outcomes[0].kind
        self.faults += self._run_faults(plugin, consumer, reference)
        self.faults += self._log_faults(consumer, reference)

    def _prepare_session(self) -> None:
        service, scope = self._runner.session_service, CancelScope()
        key = (self._runner.app_name, self._scenario.user_id, self._session_id)
        settle(service.delete_session(*key), scope)
        if self._scenario.state or self._scenario.events or not self._runner.auto_create_session:
            app_name, user_id, session_id = key
            session = settle(service.create_session(app_name, user_id, self._scenario.state, session_id), scope)
            for event in self._scenario.events:
                settle(service.append_event(session, event), scope)

    def _equip(self, probe: Probe, answer_with: str | None = None) -> ProbePlugin:
        plugin = ProbePlugin(probe, self._session_id, answer_with=answer_with)
        self._runner.plugins = PluginManager((plugin, *self._own_plugins))
        return plugin

    def _subscribe(
        self, message: Content, run_config: RunConfig, consumer: _Consumer, signal: AbortSignal | None = None
    ) -> Callable[[], object]:
        user_id, session_id = self._scenario.user_id, self._session_id
        run = self._runner.run_async(user_id, session_id, message, run_config, abort_signal=signal)
        observer = Observer(consumer.on_next, consumer.on_error, consumer.on_completed)
        return run._subscribe_core(observer).dispose  # below the guard of `subscribe`, which would hide what comes late

    def _wait(self, plugin: ProbePlugin, consumer: _Consumer) -> bool:
        deadline = time.monotonic() + self._scenario.timeout
        if not plugin.ended.wait(self._scenario.timeout):
            return False
        is_left = self._how == "dispose" and self.probe.is_stopped
        return is_left or consumer.ended.wait(max(deadline - time.monotonic(), 0.0))

    # -- what is checked -----------------------------------------------------------------------------------------------

    def _run_faults(self, plugin: ProbePlugin, consumer: _Consumer, reference: Tried | None) -> Iterator[str]:
        probe, kinds = self.probe, [outcome.kind for outcome in plugin.outcomes]
        if len(kinds) > 1:
            yield f"on_run_end was told {len(kinds)} times: {', '.join(kinds)}"
        if reference is None:
            if consumer.error is not None:
                yield f"the scenario fails: {consumer.error!r}"
            return
        if not probe.is_stopped:
            yield NOT_AGAIN
            return
        left = Left(plugin.outcomes[0], reference.kind, self._is_over, probe, consumer.late, consumer.error)
        depth = DEPTHS.get(self._how)
        yield from dispose_faults(left) if depth is None else abort_faults(left, depth)
        if probe.stop_took > SLOW:
            yield f"the stop took {probe.stop_took:.2f} s to return: it waited"
        left_over = [one for one in self._runner.leftovers() if one.kind == "work"]  # a pool's thread may stay
        yield from (f"work of the run goes on after its end: {one.name}" for one in left_over)

    @property
    def _is_over(self) -> bool:
        """True when the run was stopped after its end."""
        return self._stop_at in (AFTER_THE_END, "end 1 delivered")

    def _log_faults(self, consumer: _Consumer, reference: Tried | None) -> Iterator[str]:
        """The log against what the consumer saw."""
        events = self._stored()
        yield from log_faults(events)
        own = list(dropwhile(is_seal, events[len(self._scenario.events) :]))
        self.saved = len(own)
        if own and own[0].author != "user":
            yield f"the run's first stored event is not the user's, but of {own[0].author}"
        said, seen = own[1:], consumer.finals
        depth = DEPTHS.get(self._how)
        if depth is not None and reference is not None and self.kind is not None:
            logged = Logged(own, self.probe.stored, self.probe.agent_was_done)
            yield from abort_log_faults(self.kind, self._is_over, logged, self._runner.agent, reference.saved, depth)
        special = [event.error_code for event in said if event.error_code and event.id not in {one.id for one in seen}]
        renamed = bool(self._runner.plugins.hooks("on_event_callback"))  # what is seen may be a replacement
        if special and not renamed:
            yield f"the log holds what nobody said: {', '.join(special)}"
        if not renamed and [event.id for event in said[: len(seen)]] != [event.id for event in seen]:
            yield f"the log holds {brief(said)}, the consumer saw {brief(seen)}"
        elif not 0 <= len(said) - len(seen) <= (1 if self.probe.is_stopped and self._how == "dispose" else 0):
            yield f"the log holds {len(said)} events of the run, the consumer saw {len(seen)}: {brief(said)}"

    def _stored(self) -> list[Event]:
        service, user_id = self._runner.session_service, self._scenario.user_id
        session = settle(service.get_session(self._runner.app_name, user_id, self._session_id), CancelScope())
        return [] if session is None else session.events

    # -- the next turn -------------------------------------------------------------------------------------------------

    def take_next_turn(self, reference: Tried | None) -> None:
        """A plain message on the same session; the models' places are taken by one that agrees to everything."""
        before = len(self._stored())
        probe = Probe()
        plugin, consumer = self._equip(probe, _ANSWER), _Consumer(probe)
        self._subscribe(Content.user(_NEXT), RunConfig(max_llm_calls=_NEXT_CALLS), consumer)
        if not consumer.ended.wait(self._scenario.timeout):
            self.faults.append(f"the next turn has not ended after {self._scenario.timeout} s")
            return
        if consumer.error is not None and not isinstance(consumer.error, LlmCallsLimitExceededError):
            self.faults.append(f"the next turn fails: {consumer.error!r}")
        self.faults += [f"in the next turn {fault}" for asked in plugin.requests for fault in request_faults(asked)]
        events = self._stored()
        self.faults += [f"after the next turn {fault}" for fault in log_faults(events)]
        new = events[before:] if self._how != "dispose" and before else list(dropwhile(is_seal, events[before:]))
        if not new or new[0].text != _NEXT:
            self.faults.append(f"after the stop, before the next message, something was stored: {brief(new[:3])}")
        left = [str(call) for call in open_calls(events) if not call.long_running]
        self.faults += [f"after the next turn a call is still open: {call}" for call in left]


def _own_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("rxagent-")}


def _left_at_work(before: set[threading.Thread], ended: bool) -> list[str]:
    """The threads of rxagent that are not idle, once those that are just ending had a moment for it."""
    deadline = time.monotonic() + (2.0 if ended else 0.0)
    pause = 0.0002
    while True:
        quiesce()
        left = _own_threads() - before
        if not left or time.monotonic() > deadline:
            return sorted(thread.name for thread in left)
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
