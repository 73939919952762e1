"""Run: one subscription to `run_async`, from its place in the line to its end.

line      waits for its turn; holds no thread
worker    serves the mailbox: opens the session, then the agent's code, the appends and `on_next`
fate      the first of completed, paused, failed, disposed, aborted decides
end       the last work out, or the grace: on_run_end, the turn, the terminal event, in this order
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, final

from reactivex import abc
from reactivex.disposable import Disposable, SerialDisposable

from rxagent.errors import FencedError, RunError, RunTimeoutError
from rxagent.events import Event
from rxagent.flow.compaction import compact_after_run
from rxagent.history.digest import give_back_digest
from rxagent.invocation import Invocation, InvocationContext, Outcome, OutcomeKind, StopDepth
from rxagent.streams import CancelScope, Ledger, Mailbox, Outlet, Stopped, Work, aio, drop, guarded
from rxagent.streams.gate import Gate
from rxagent.streams.iteration import Door, current_door
from rxagent.streams.timer import timer
from rxagent.streams.workers import workers

from .fate import Fate, Token
from .lines import Turn, line_of
from .log import RunLog
from .nesting import contexts_of, refuse_self_wait
from .opening import Opening, open_session
from .report import report, report_late
from .spec import RunSpec
from .stops import STORING, attach_stops, write_tail
from .turn import StoreTurn

__all__ = ["Run", "RunState"]

RunState = Literal["waiting", "running", "stopping", "ended"]


@final
class Run:
    """One run. Everything but its worker's code may be called from any thread, and never waits."""

    def __init__(self, spec: RunSpec, observer: abc.ObserverBase[Event], door: Door | None) -> None:
        door = door or current_door.get() or Door(aio.running_loop() or aio.home_loop.get())
        self.spec = spec
        self.door = door
        self.turn: Turn = "new"
        self.line = line_of(spec.runner.session_service, spec.key)
        self.scope = CancelScope()
        self.ledger = Ledger(self._out, self._aside)
        self.mailbox = Mailbox(self.scope)
        self.invocation = Invocation(
            spec.runner.new_invocation_id(),
            app_name=spec.key.app_name,
            user_id=spec.key.user_id,
            session_id=spec.key.session_id,
            session_service=spec.runner.session_service,
            plugins=spec.runner.plugins,
            run_config=spec.run_config,
            scope=self.scope,
            ledger=self.ledger,
            artifact_service=spec.runner.artifact_service,
            memory_service=spec.runner.memory_service,
            compaction=spec.runner.compaction,
            resumability=spec.runner.resumability,
            on_rest=self._at_rest,
        )
        self.context = InvocationContext(self.invocation, spec.runner.agent, self.mailbox)
        self.ended = Gate()
        self.hooks_are_due = False  # plugins hear of errors once the message was accepted
        self._agent_is_done = False
        self._limit_error: RunTimeoutError | None = None
        self._fate = Fate()
        self._unstarted, self._unended = Token(), Token()
        self.opening = Opening()
        self._began = time.perf_counter()
        self._upstream = SerialDisposable()
        self._take_backs: list[Callable[[], object]] = []
        self._work_context, consumer_context = contexts_of(self)
        self._outlet = Outlet(observer, consumer_context, self.fail)
        self._log = RunLog(self.invocation, self._fate, self._outlet)
        self.invocation.append_unseen = self._log.append_unseen
        self._store_turn = StoreTurn(spec.runner.session_service, spec.key, self.invocation.id)
        door.ledger = self.ledger
        door.before_wait = partial(refuse_self_wait, self)
        self._take_backs.append(door.scope.on_cancel(self.dispose))
        self.scope.on_cancel(door.let_go)
        self.scope.on_cancel(self.ledger.strays.cancel)

    # -- starting ------------------------------------------------------------------------------------------------------

    @property
    def outcome(self) -> Outcome | None:
        """How it ended, or is about to; None while that is open."""
        return self._fate.outcome

    @property
    def is_live(self) -> bool:
        """True while it has the session's turn."""
        return self.turn == "has"

    @property
    def state(self) -> RunState:
        """waiting, running, stopping or ended."""
        if self.ended.is_set():
            return "ended"
        if self._fate.is_decided:
            return "stopping"
        return "running" if self._unstarted.is_taken else "waiting"

    def start(self, *_: object) -> None:
        """Take a place in the session's line; the work follows when the turn comes."""
        self.spec.runner.register(self)
        if self._unended.is_taken:  # left before it came here: who ended it has found nothing to forget
            self.spec.runner.forget(self)
        self.line.enter(self)
        self._take_backs += attach_stops(self, self._work_context)  # they may stop it at once; its turn may have come
        if self._unended.is_taken:  # it has ended meanwhile: nobody else takes these back
            self._part()

    def begin(self) -> None:
        """The turn in this process has come; the store's turn is next, which may take other processes a while."""
        try:
            workers.spawn(self._take_store_turn, self._work_context)
        except RuntimeError as error:  # no thread to be had
            self.fail(error)

    def _take_store_turn(self) -> None:
        try:
            if not self._has_store_turn():
                self.opening.queues()  # behind another process: as good as in line
                self._take_backs.append(self._store_turn.when_free(self._retry_store_turn))
                return
        except BaseException as error:
            self.fail(error)
            return
        self._main()

    def _retry_store_turn(self) -> bool:
        try:
            if not self._work_context.copy().run(self._has_store_turn):
                return False
            self.opening.begins()
            workers.spawn(self._main, self._work_context)
        except BaseException as error:
            self.fail(error)
        return True

    def _has_store_turn(self) -> bool:
        """Ask the store for the turn; True too when nobody wants it any more. It is work: the end waits for it."""
        if self._unended.is_taken:
            return True
        self.ledger.enter()
        try:
            taken = self._unstarted.is_taken or self._store_turn.take(self.scope, self.abort, self._on_turn_lost)
            if left := self._unstarted.is_taken:  # perhaps ended by its grace meanwhile: nobody else gives it back
                guarded("close_run", self._store_turn.give_back)
            return taken or left
        finally:
            self.ledger.leave()

    # -- the worker ----------------------------------------------------------------------------------------------------

    def _main(self) -> None:
        if not self._unstarted.take():
            return  # stopped before; whoever did has left the ledger in our place
        try:
            self.mailbox.serve(self._flow)
        except BaseException as error:
            self.fail(error)  # decides nothing when it is only the stop
        guarded("dispose", self._upstream.dispose)
        self.ledger.leave()
        raised = self._outlet.raised
        if raised is not None and not isinstance(raised, Exception):
            raise raised  # a consumer's KeyboardInterrupt or SystemExit leaves by the worker's root, too

    def _flow(self) -> None:
        self.scope.check()
        self._log.epoch = self._store_turn.epoch
        opened = open_session(self, self._log)
        if self._fate.is_decided:
            return  # aborted while it opened: the tail sees to the rest
        if opened != "agent":
            self._end_here() if opened == "nothing" else self.complete()
            return
        events = self.context.agent.run_async(self.context)
        if isinstance(events, Work) and events.mailbox is self.mailbox:  # it stands where the run stands: no relay
            self._upstream.disposable = Disposable(events.start(self.store, self.fail, self.complete))
            return
        relay = self.mailbox.relay
        self._upstream.disposable = events.subscribe(
            lambda event: relay(self.store, event),
            lambda error: relay(self.fail, error),
            lambda: relay(lambda _: self.complete(), None),
        )

    def store(self, event: Event) -> None:
        """Append a final event, then emit it; emit a partial one. What goes wrong fails the run."""
        try:
            if event.partial:
                self._log.show(event, self.context)
            else:
                self._log.append(event, self.context)
        except BaseException as error:
            self.fail(error)
        self._outlet.drain()

    def complete(self) -> None:
        """The agent's stream has completed: after-run, then the end. On the worker."""
        if self._fate.is_decided:
            return
        self._agent_is_done = True
        try:
            self.invocation.plugins.each("after_run_callback", self.scope, self.context)
            self._log.flush_state(self.context)
            self._outlet.drain()
            compact_after_run(self.invocation, self.scope)
        except BaseException as error:
            self.fail(error)
            return
        self._end_here()

    def _end_here(self) -> None:
        """Everything is said. It is paused when the invocation is still owed an answer."""
        kind: OutcomeKind = "paused" if self.invocation.is_owed_an_answer() else "completed"
        reason = "end_invocation" if self.context.end_invocation else None
        if self._decide(kind, reason):
            self.ledger.strays.cancel("the run has ended")
            if self.ledger.count > 1:  # cancelled work that is slow to leave
                self._later(self.spec.run_config.cancel_grace_period, self._finish)
            self.mailbox.end()

    # -- decisions -----------------------------------------------------------------------------------------------------

    def _decide(self, kind: OutcomeKind, reason: str | None = None, error: BaseException | None = None) -> bool:
        return self._fate.decide(Outcome(kind, self.invocation.usage, reason, error))

    def fail(self, error: BaseException) -> None:
        """Something went wrong: the run stops, and `on_error` gets the error."""
        if isinstance(error, Stopped):
            if error.scope.is_cancelled and self._fate.is_decided:
                return
            error = RunError(f"the run was left by the stop of something else ({error}); it was not stopped itself")
        reason = "superseded" if isinstance(error, FencedError) else type(error).__name__
        if self._decide("failed", reason, error):
            self._stop("failed")

    def dispose(self) -> None:
        """The consumer leaves: nothing more is emitted or appended."""
        was_open = self._outlet.close()
        if self._decide("disposed"):
            self._stop("disposed")
        if was_open:
            self.door.scope.cancel("disposed")  # whoever reads it learns that nothing more comes

    def abort(self, reason: str = "user_stop", after: StopDepth = "now") -> None:
        """Somebody outside asks the run to stop: it seals, says so in a last event, and completes.

        Nothing when its fate is decided, or it has said its last: then it completes as if nobody had asked. One whose
        turn is just opening is stopped when the message is stored; one in line leaves at once.
        """
        self.abort_for(reason, after)

    def abort_for(self, reason: str, after: StopDepth = "now", error: RunTimeoutError | None = None) -> None:
        """As `abort`; the error stands in the outcome: the limit that has fired."""
        if self._fate.is_decided:
            return
        if self.turn == "has" and self.opening.postpones(lambda: self.abort_for(reason, after, error)):
            if after == "now":  # a store that hangs must not hold it
                self._later(self.spec.run_config.cancel_grace_period, lambda: self._abort_now(reason, error))
        elif after != "now":
            self.invocation.soft_stop.ask(reason, after)
        elif not self._has_said_its_last():
            self._abort_now(reason, error)
        else:  # unless it turns out to have more to say: a model that goes on, a step that is to follow
            self._limit_error = error
            self.invocation.soft_stop.ask(reason, "tool")

    def _at_rest(self, reason: str, is_held: bool) -> None:
        """No model-tool loop is at work, after a soft stop. is_held: one of them had wanted to go on."""
        if is_held or not self._has_said_its_last():
            self._abort_now(reason, self._limit_error)

    def opened(self) -> None:
        """The message is stored: stops that came before act now."""
        for stop in self.opening.opened():
            stop()

    def _has_said_its_last(self) -> bool:
        last = self._log.last
        return self._agent_is_done or (last is not None and self.context.agent.ends_with(last))

    def _abort_now(self, reason: str, error: RunTimeoutError | None = None) -> None:
        if self._decide("aborted", reason, error):
            self.ledger.enter()
            self._cut(reason)  # here, so that nothing starts once the abort has returned
            self._aside(self._tail)

    def _tail(self) -> None:
        """The end of an aborted run, on a worker of its own: the old one may be stuck in a tool or in its consumer."""
        began = time.monotonic()
        self._later(self.spec.run_config.cancel_grace_period + STORING, self._finish)  # a store that hangs holds no end
        try:
            write_tail(self, self._log, lambda: not self._unended.is_taken)
            self._outlet.drain()
        except Exception as error:  # the log takes nothing more: the next run seals what is open
            drop(error, "the tail of an aborted run")
        finally:
            left = self.spec.run_config.cancel_grace_period - (time.monotonic() - began)
            self._later(max(left, 0.0), self._finish)
            self.ledger.leave()

    def _on_turn_lost(self) -> None:
        self.fail(FencedError("another run took the session's turn, as this one's lease had run out"))

    def _stop(self, reason: str) -> None:
        self._later(self.spec.run_config.cancel_grace_period, self._finish)
        self._cut(reason)

    def _cut(self, reason: str) -> None:
        if self._unstarted.take():  # no worker will: leave in its place
            self._aside(self.ledger.leave)
        self.scope.cancel(reason)
        guarded("dispose", self._upstream.dispose)

    def _later(self, seconds: float, job: Callable[[], object]) -> None:
        self._take_backs.append(timer.after(seconds, job, self._work_context))

    # -- the end -------------------------------------------------------------------------------------------------------

    def _aside(self, job: Callable[[], object]) -> None:
        try:
            workers.spawn(job, self._work_context)
        except RuntimeError:  # a stop must not need a thread that is not to be had
            self._work_context.copy().run(job)

    def _out(self) -> None:
        """The last work has left."""
        if self._unended.is_taken:
            guarded("report", report_late, self.invocation)
        self._finish()
        self.spec.runner.forget_leftover(self)
        self._let_go()

    def _finish(self) -> None:
        if not self._unended.take():
            return
        outcome = self._fate.outcome
        assert outcome is not None  # nothing leaves before a decision
        if self.ledger.count:
            self.spec.runner.note_leftover(self)
            if not self.ledger.count:  # it has left between the two
                self.spec.runner.forget_leftover(self)
        self._part()
        outcome.end(self._began)
        self._log.count_into(outcome)
        plugins, scope = self.invocation.plugins, CancelScope()
        if outcome.kind == "failed" and self.hooks_are_due:
            guarded("on_run_error_callback", plugins.each, "on_run_error_callback", scope, self.context, outcome.error)
        plugins.each_guarded("on_run_end", scope, self.context, outcome)
        guarded("report", report, self.invocation, outcome)
        if self.invocation.session_or_none is not None and not self.ledger.count:  # else work may still use it
            give_back_digest(self.spec.key, self.invocation.digest)
        guarded("close_run", self._store_turn.give_back)
        self.line.leave(self)  # before the end is told: the consumer may start, and wait for, the next turn there
        self.spec.runner.forget(self)
        self.ended.set()
        self._outlet.put("error" if outcome.kind == "failed" else "end", outcome.error)
        self._outlet.drain()
        if not self.ledger.count:
            self._let_go()

    def _let_go(self) -> None:
        """Part from what refers back to this run, so that it is freed at once and not by the collector."""
        self._upstream = SerialDisposable()
        self._work_context = contextvars.Context()
        self._take_backs.clear()
        self.door.before_wait = None
        self.ledger.part()
        self.invocation.soft_stop.part()
        self.invocation.append_unseen = _refuse

    def _part(self) -> None:
        """Take back what could still reach the run: deadlines, signals, the door."""
        for take_back in self._take_backs:
            take_back()

    def __repr__(self) -> str:
        return f"<Run {self.invocation.id}: {self.outcome or self.state}>"


def _refuse(_: Sequence[Event]) -> None:
    raise FencedError("the run is over; nothing more is stored by it")
