"""CallBatch: the calls of one model event, run by the tool execution mode, answered by one event."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any, final

from reactivex import Observable

from rxagent.events import Content, Event, EventActions, FunctionCall, ToolConfirmation
from rxagent.invocation import InvocationContext
from rxagent.streams import Branch, CancelScope, Emit, Gather, Mailbox, Work
from rxagent.tools import BaseTool

from .asking_agent import AskingAgent
from .tool_run import ToolRun

__all__ = ["CallBatch"]


@final
class CallBatch:
    """Starts the calls and collects their responses, in call order.

        sequential           a-A b-B c-C |          each after the one before
        parallel, none       abc-C--A-B  |          all started on this worker: blocking ones run one after another
        parallel_subscribe   a-b-c-B-A-C |          each on a worker of its own, when there are several

    The first error leaves the call that it comes from open, and is raised; after `close` the others are open, too, but
    for those that have finished: `answer` still has their responses.
    confirmations: what the user has decided, call by call. show: takes the partial events of what a tool reports.
    Threads: one worker; it may block.
    """

    __slots__ = ("_context", "_gather", "_on_workers", "_runs", "_started", "_waiting", "one_by_one")

    def __init__(
        self,
        agent: AskingAgent,
        context: InvocationContext,
        scope: CancelScope,
        calls: Sequence[FunctionCall],
        tools: dict[str, BaseTool],
        confirmations: Sequence[ToolConfirmation | None] = (),
        show: Emit[Event] | None = None,
    ) -> None:
        decided = zip(calls, confirmations or [None] * len(calls), strict=True)
        self._context = context
        self._gather: Gather[Any] = Gather(scope)
        self._runs = [ToolRun(agent, context, scope, call, tools, confirmation) for call, confirmation in decided]
        self._waiting = deque(run for run in self._runs if not run.has_ended)
        self._started: list[ToolRun] = []  # by their place in the gather
        if show is not None and context.run_config.streaming_mode == "sse":
            thread = threading.get_ident()
            for run in self._runs:
                run.context.show_progress = partial(self._show, show, thread, run)
        mode = context.run_config.tool_execution_mode
        self.one_by_one = mode == "sequential"
        self._on_workers = mode == "parallel_subscribe" and len(self._waiting) > 1

    def advance(self) -> None:
        """Take in the results that have arrived, and start what may start now, without waiting for more.

        Raises a tool's error that nobody took.
        """
        self._take_arrived()
        while self._waiting and self._may_start() and not (self.one_by_one and self._gather.pending):
            run = self._waiting.popleft()
            single = self._on_worker(run) if self._on_workers else run.begin()
            if single is not None:
                self._started.append(run)
                self._gather.add(single)
            self._take_arrived()

    @property
    def is_done(self) -> bool:
        """True when every call has ended that was to start."""
        return not (self._waiting and self._may_start()) and not self._gather.pending

    def _may_start(self) -> bool:
        """False when the run is to stop after the tools that run."""
        return self._context.invocation.soft_stop.may_start()

    def finish(self) -> None:
        """Wait for all. Raises a tool's error that nobody took."""
        self.advance()
        while not self.is_done:
            self._take()
            self.advance()

    def close(self) -> None:
        """Stop what has not ended."""
        self._gather.close()
        for run in self._started:
            run.stop()

    @property
    def calls(self) -> list[FunctionCall]:
        """The calls, in their order."""
        return [run.call for run in self._runs]

    def answer(self) -> Event | None:
        """The responses of the calls that have ended, as one event, and what those without a response have written.

        None when there is neither.
        """
        ended = [run for run in self._runs if run.has_ended]
        parts = tuple(part for run in ended if (part := run.response()) is not None)
        actions = _merged([run.context.actions for run in ended])
        if not parts and actions == EventActions():
            return None
        context = self._context
        return Event(
            invocation_id=context.invocation_id,
            author=context.agent.name,
            branch=context.branch,
            content=Content(role="user", parts=parts) if parts else None,
            actions=actions,
        )

    def _show(self, show: Emit[Event], thread: int, run: ToolRun, text: str) -> bool:
        """Show what a tool reports: on the batch's own thread at once, from another one when this one waits."""
        context = self._context
        event = Event(
            invocation_id=context.invocation_id,
            author=context.agent.name,
            branch=context.branch,
            partial=True,
            custom_metadata={"tool_progress": {"id": run.call.id, "name": run.call.name, "text": text}},
        )
        if threading.get_ident() != thread:
            return self._gather.tell(lambda: show(event))
        show(event)
        return True

    def _take_arrived(self) -> None:
        while self._gather.pending and self._gather.has_arrived:
            self._take()

    def _take(self) -> None:
        place, value, error = self._gather.take()
        if not self._on_workers:
            self._started[place].end(value, error)
        elif error is not None:  # hooks have run on the tool's worker
            raise error

    def _on_worker(self, run: ToolRun) -> Observable[Any]:
        def flow(mailbox: Mailbox) -> Observable[Any]:
            def body(emit: Emit[Any], scope: CancelScope) -> None:
                run.run(scope)
                emit(run.result)

            return Work(mailbox, body)

        return Branch(self._context.ledger, self._context.scope, flow)


def _merged(actions: Sequence[EventActions]) -> EventActions:
    return actions[0].copied() if len(actions) == 1 else EventActions.merged(actions)
