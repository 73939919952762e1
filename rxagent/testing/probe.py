"""Probe: sees the instants of one run from its inside, and can stop it at one of them."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from inspect import isawaitable
from typing import Any, final

import reactivex
from reactivex import Observable

from rxagent.agents import LlmAgent
from rxagent.events import Content, Event
from rxagent.invocation import CallbackContext, InvocationContext, Outcome, ToolContext
from rxagent.models.base import BaseLlm
from rxagent.models.request import FunctionDeclaration, LlmRequest
from rxagent.models.response import LlmResponse
from rxagent.plugins import BasePlugin
from rxagent.sessions import BaseSessionService
from rxagent.streams import Blocking, CancelScope, Single, SingleEmitter
from rxagent.tools import BaseTool, CallContext

__all__ = ["Probe", "ProbePlugin", "WatchedTool", "watched_model", "watched_service"]


@final
class Probe:
    """Counts the instants that one run reaches; at the one named `stop_at` it stops the run, on the spot.

    points: the instants so far, each with a name of its own ("append 2 begun"). late: what began after the stop and
    should not have. stop_took: seconds. stopped_on: the thread that stopped. stored: how many appends had been stored
    when it was stopped; agent_was_done: after-run had begun. appends_go_on: a stop lets the run append what ends it.
    Threads: any; `reach` is called wherever the instant is.
    """

    WAIT = 5.0  # seconds that a subscribe may take to hand over its handle

    def __init__(self, stop_at: str | None = None, *, appends_go_on: bool = False) -> None:
        self.points: list[str] = []
        self.late: list[str] = []
        self.stop_took = 0.0
        self.stopped_on: int | None = None
        self.stored = 0
        self.agent_was_done = False
        self.appends_go_on = appends_go_on
        self._stop_at = stop_at
        self._one_is_excused = True
        self._stop: Callable[[], object] | None = None
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self._armed = threading.Event()
        self._stopped = threading.Event()

    @property
    def is_stopped(self) -> bool:
        """True once the stop has returned."""
        return self._stopped.is_set()

    def arm(self, stop: Callable[[], object]) -> None:
        """The run's handle is there: from now on it can be stopped."""
        self._stop = stop
        self._armed.set()

    def reach(self, what: str, when: str = "", *, begins: bool = False) -> None:
        """An instant. begins: something starts here that must not start after a stop."""
        with self._lock:
            self._counts[what, when] += 1
            point = " ".join(word for word in (what, str(self._counts[what, when]), when) if word)
            self.points.append(point)
            if begins and self.is_stopped:
                self._came_late(point)
        if point == self._stop_at:
            self.stop_now()

    def _came_late(self, point: str) -> None:
        """A stop on another thread may meet one thing that was just beginning."""
        if self._one_is_excused and threading.get_ident() != self.stopped_on:
            self._one_is_excused = False
        else:
            self.late.append(point)

    def stop_now(self) -> None:
        """Stop the run, on this thread."""
        if not self._armed.wait(self.WAIT) or self._stop is None:
            raise TimeoutError("subscribing did not return a handle")
        self.stopped_on = threading.get_ident()
        self.stored = self._counts["append", "stored"]
        self.agent_was_done = self._counts["after-run", ""] > 0
        began = time.perf_counter()
        self._stop()
        self.stop_took = time.perf_counter() - began
        self._stopped.set()


class ProbePlugin(BasePlugin):
    """The hooks of one session's runs as instants. It stands before all other plugins and replaces nothing.

    Models and tools are watched from the first request on that names them. In a following turn (`answer_with`) it
    answers in the models' place. requests: what the models were asked.
    """

    def __init__(self, probe: Probe, session_id: str, *, answer_with: str | None = None) -> None:
        super().__init__("rxagent_probe")
        self.outcomes: list[Outcome] = []
        self.ended = threading.Event()
        self.requests: list[tuple[Content, ...]] = []
        self.watching = ExitStack()
        self._probe = probe
        self._session_id = session_id
        self._answer_with = answer_with
        self._models: set[int] = set()

    def before_run_callback(self, ctx: InvocationContext) -> None:
        self._probe.reach("before-run")

    def after_run_callback(self, ctx: InvocationContext) -> None:
        self._probe.reach("after-run", begins=True)

    def on_run_end(self, ctx: InvocationContext, outcome: Outcome) -> None:
        if ctx.invocation.session_id == self._session_id:  # not the run of an agent that is a tool
            self.outcomes.append(outcome)
            self.ended.set()

    def before_agent_callback(self, ctx: CallbackContext) -> None:
        self._probe.reach(f"agent {ctx.agent_name}", "begins", begins=True)

    def after_agent_callback(self, ctx: CallbackContext) -> None:
        self._probe.reach(f"agent {ctx.agent_name}", "ends")

    def before_model_callback(self, ctx: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
        self.requests.append(tuple(llm_request.contents))
        if self._answer_with is not None:
            return LlmResponse(content=Content.model(self._answer_with))
        self._watch(ctx, llm_request)
        self._probe.reach(f"request of {ctx.agent_name}", "made", begins=True)
        return None

    def before_tool_callback(self, tool: BaseTool, args: dict[str, Any], ctx: ToolContext) -> None:
        self._probe.reach(f"tool {tool.name}", "due", begins=True)

    def after_tool_callback(
        self, tool: BaseTool, args: dict[str, Any], ctx: ToolContext, result: dict[str, Any]
    ) -> None:
        self._probe.reach(f"tool {tool.name}", "over")

    def _watch(self, ctx: CallbackContext, llm_request: LlmRequest) -> None:
        agent = ctx.invocation_context.agent
        model = agent.canonical_model() if isinstance(agent, LlmAgent) else None
        if model is not None and id(model) not in self._models:
            self._models.add(id(model))
            self.watching.enter_context(watched_model(model, self._probe))
        for name, tool in llm_request.tools.items():
            if isinstance(tool, BaseTool):
                llm_request.tools[name] = WatchedTool(tool, self._probe)


class WatchedTool(BaseTool):
    """A tool whose calls are instants: started, waiting (it did not answer on the spot), done."""

    __slots__ = ("_probe", "_tool")

    def __init__(self, tool: BaseTool, probe: Probe) -> None:
        super().__init__(
            tool.name, tool.description, is_long_running=tool.is_long_running, custom_metadata=tool.custom_metadata
        )
        self._tool = tool
        self._probe = probe

    def declaration(self) -> FunctionDeclaration | None:
        return self._tool.declaration()

    def run_async(self, args: dict[str, Any], tool_context: CallContext) -> Single[dict[str, Any]]:
        return Single(lambda emitter: self._start(args, tool_context, emitter))

    def _start(self, args: dict[str, Any], context: CallContext, emitter: SingleEmitter[dict[str, Any]]) -> None:
        probe, what = self._probe, f"tool {self.name}"
        has_ended = threading.Event()
        probe.reach(what, "started", begins=True)
        if context.is_aborted:
            return  # stopped at that instant: as if in the tool's first line

        def done(result: dict[str, Any]) -> None:
            has_ended.set()
            probe.reach(what, "done")
            emitter.on_success(result)

        def failed(error: Exception) -> None:
            has_ended.set()
            probe.reach(what, "failed")
            emitter.on_error(error)

        emitter.set_cancellable(self._tool.run_async(args, context).subscribe(done, failed).dispose)
        if not has_ended.is_set():
            probe.reach(what, "waiting")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tool, name)  # what callbacks ask the tool itself


@contextmanager
def watched_service(service: BaseSessionService, probe: Probe) -> Iterator[None]:
    """Appends of this service object are instants, while the block lasts."""
    inside = threading.local()  # one method may be written with the other

    def watched(plain: Callable[..., Any]) -> Callable[..., Any]:
        return _watched_append(plain, probe, inside)

    with _replaced(service, "append_event", watched), _replaced(service, "append_events", watched):
        yield


def _watched_append(plain: Callable[..., Any], probe: Probe, inside: threading.local) -> Callable[..., Any]:
    def append(session: Any, what: Event | list[Event], **options: Any) -> Any:
        if getattr(inside, "appending", False) or getattr(what, "partial", False):
            return plain(session, what, **options)
        inside.appending = True
        try:
            probe.reach("append", "begun", begins=not probe.appends_go_on)
            stored = plain(session, what, **options)
        finally:
            inside.appending = False
        if isawaitable(stored):
            return _awaited(stored, probe)
        probe.reach("append", "stored")
        return stored

    return append


async def _awaited(stored: Awaitable[Any], probe: Probe) -> Any:
    result = await stored
    probe.reach("append", "stored")
    return result


@contextmanager
def watched_model(model: BaseLlm, probe: Probe) -> Iterator[None]:
    """Calls of this model object are instants, while the block lasts."""

    def watched(plain: Callable[..., Observable[LlmResponse]]) -> Callable[..., Observable[LlmResponse]]:
        def generate_content(llm_request: LlmRequest, stream: bool = False) -> Observable[LlmResponse]:
            answer = plain(llm_request, stream)
            if isinstance(answer, Blocking):
                return Blocking(lambda scope: _played(answer, scope))

            def called(_: object) -> Observable[LlmResponse]:
                probe.reach(f"model {model.model}", "called", begins=True)
                return answer

            return reactivex.defer(called)

        def _played(answer: Blocking[LlmResponse], scope: CancelScope) -> Iterator[LlmResponse]:
            probe.reach(f"model {model.model}", "called", begins=True)
            yield from answer.iterate(scope)
            probe.reach(f"model {model.model}", "answered")

        return generate_content

    with _replaced(model, "generate_content", watched):
        yield


@contextmanager
def _replaced(owner: object, name: str, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """An object's method, changed for this object and this block."""
    own = vars(owner).get(name)
    setattr(owner, name, change(getattr(owner, name)))
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)
