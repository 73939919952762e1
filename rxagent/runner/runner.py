"""Runner: runs an agent on sessions."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from functools import cache
from types import TracebackType
from typing import Any, Final, TypeAlias

from rxagent.agents import BaseAgent
from rxagent.artifacts import BaseArtifactService, InMemoryArtifactService
from rxagent.errors import ConfigError, NotResumableError, SessionNotFoundError, UsageError
from rxagent.events import Content, Event, new_event_id
from rxagent.events.content import Message
from rxagent.invocation import AbortSignal, ResumabilityConfig, RunConfig
from rxagent.memory import BaseMemoryService
from rxagent.plugins import BasePlugin, PluginManager
from rxagent.sessions import BaseSessionService, InMemorySessionService, Question, Session, SessionKey
from rxagent.streams import CancelScope, EventStream, aio, guarded, settle
from rxagent.streams.iteration import Iteration

from .app import App
from .handle import RunHandle
from .leftovers import Leftover, Leftovers
from .run import Run
from .run_source import RunSource
from .spec import RunSpec
from .watcher import Readable

__all__ = ["Runner", "Signal"]

Signal: TypeAlias = AbortSignal | Readable
"""What may ask a run to stop."""

_CLOSED: Final = "this runner is closed, and its plugins with it; make another one"


class Runner:
    """Runs one agent, or app, on the sessions of a service. Its four doors take the same arguments.

    agent: the root agent; the app is then named `app_name`, else after the agent. app: instead of agent, app_name and
    plugins. session_service, artifact_service: in memory when there is none. memory_service: what tools and callbacks
    search; nothing is put in by itself, and without one they cannot. auto_create_session: create a session that does
    not exist; False makes it a SessionNotFoundError of the run.

    A runner is a context manager: `close()` disposes its runs, waits the grace period, closes plugins and what it
    created; from then on it runs nothing. Raises ConfigError when agent and app are both given, or neither.
    """

    def __init__(
        self,
        agent: BaseAgent | None = None,
        *,
        app: App | None = None,
        app_name: str | None = None,
        session_service: BaseSessionService | None = None,
        artifact_service: BaseArtifactService | None = None,
        memory_service: BaseMemoryService | None = None,
        plugins: Iterable[BasePlugin] = (),
        auto_create_session: bool = True,
    ) -> None:
        plugins = tuple(plugins)
        if (agent is None) == (app is None):
            raise ConfigError("give a Runner an agent, or app=App(...), and not both")
        if app is not None and (plugins or app_name is not None):
            raise ConfigError("with app=App(...), name and plugins belong to the App")
        if agent is not None and not isinstance(agent, BaseAgent):
            raise ConfigError(f"a Runner runs an agent, not a {type(agent).__name__}; make an LlmAgent of it")
        self.agent: BaseAgent = app.root_agent if app is not None else agent  # type: ignore[assignment]
        self.app_name: str = app.name if app is not None else app_name or self.agent.name
        self.plugins = PluginManager(app.plugins if app is not None else plugins)
        self.session_service: BaseSessionService = session_service or InMemorySessionService()
        self.artifact_service: BaseArtifactService = artifact_service or InMemoryArtifactService()
        self.memory_service = memory_service
        self.compaction = app.events_compaction_config if app is not None else None
        self.resumability = app.resumability_config if app is not None else ResumabilityConfig()
        self.auto_create_session = auto_create_session
        self._owns_service = session_service is None
        self._lock = threading.Lock()
        self._live: set[Run] = set()
        self._leftovers = Leftovers()
        self._closed = False

    # -- the four doors ------------------------------------------------------------------------------------------------

    def run_async(
        self,
        user_id: str,
        session_id: str,
        new_message: Message | None = None,
        run_config: RunConfig | None = None,
        *,
        state_delta: Mapping[str, Any] | None = None,
        invocation_id: str | None = None,
        abort_signal: Signal | None = None,
    ) -> EventStream[Event]:
        """A run as a cold Observable: nothing happens until it is subscribed, and each subscription is a run.

        new_message: a text, a Content, or a list of Parts. state_delta: state to set with the message.
        invocation_id: resume that invocation. abort_signal: an AbortSignal, which acts at once; an asyncio.Event or
        threading.Event is looked at every 10 ms.

        Raises at the call: UsageError once the runner is closed, TypeError for what is no message, NotResumableError
        for an `invocation_id` of an app that is not resumable. Everything else is an error of the stream.
        """
        source = RunSource(
            self._spec(user_id, session_id, new_message, run_config, state_delta, invocation_id, abort_signal)
        )
        return EventStream(source, source)

    def run(
        self,
        user_id: str,
        session_id: str,
        new_message: Message | None = None,
        run_config: RunConfig | None = None,
        *,
        state_delta: Mapping[str, Any] | None = None,
        invocation_id: str | None = None,
        abort_signal: Signal | None = None,
    ) -> Iteration[Event]:
        """A run as a blocking iterator; it starts at the first `next`, and leaving the loop disposes."""
        return self.run_async(
            user_id,
            session_id,
            new_message,
            run_config,
            state_delta=state_delta,
            invocation_id=invocation_id,
            abort_signal=abort_signal,
        ).run()

    def stream(
        self,
        user_id: str,
        session_id: str,
        new_message: Message | None = None,
        run_config: RunConfig | None = None,
        *,
        state_delta: Mapping[str, Any] | None = None,
        invocation_id: str | None = None,
        abort_signal: Signal | None = None,
    ) -> AsyncIterator[Event]:
        """A run for `async for`; break, and cancelling the task, dispose."""
        return self.run_async(
            user_id,
            session_id,
            new_message,
            run_config,
            state_delta=state_delta,
            invocation_id=invocation_id,
            abort_signal=abort_signal,
        ).__aiter__()

    def start(
        self,
        user_id: str,
        session_id: str,
        new_message: Message | None = None,
        run_config: RunConfig | None = None,
        *,
        state_delta: Mapping[str, Any] | None = None,
        invocation_id: str | None = None,
        abort_signal: Signal | None = None,
    ) -> RunHandle:
        """A run that is started at once, and its handle."""
        return RunHandle(
            self._spec(user_id, session_id, new_message, run_config, state_delta, invocation_id, abort_signal)
        )

    def _spec(
        self,
        user_id: str,
        session_id: str,
        new_message: Message | None,
        run_config: RunConfig | None,
        state_delta: Mapping[str, Any] | None,
        invocation_id: str | None,
        abort_signal: Signal | None,
    ) -> RunSpec:
        if self._closed:
            raise UsageError(_CLOSED)
        if invocation_id is not None and not self.resumability.resumable:
            raise NotResumableError(
                f"app {self.app_name!r} is not resumable; leave invocation_id away to go on with a new run, or use "
                "App(..., resumability_config=ResumabilityConfig(resumable=True))"
            )
        if not isinstance(user_id, str) or not isinstance(session_id, str):
            raise TypeError("user_id and session_id are texts")
        message = None if new_message is None else Content.of(new_message)
        if abort_signal is not None and not callable(getattr(abort_signal, "is_set", None)):
            raise TypeError(f"an abort signal is an AbortSignal, or an Event, not a {type(abort_signal).__name__}")
        key = SessionKey(self.app_name, user_id, session_id)
        config = run_config or _as_usual()
        return RunSpec(self, key, message, config, dict(state_delta or {}), abort_signal, invocation_id)

    def pending(self, user_id: str, session_id: str) -> list[Question]:
        """The open questions of a session, from the store: also those of runs in other processes, long ago.

        Raises SessionNotFoundError. It blocks as the service does.
        """
        key = SessionKey(self.app_name, user_id, session_id)
        session: Session | None = settle(self.session_service.get_session(*key), CancelScope())
        if session is None:
            raise SessionNotFoundError(f"Session not found: {session_id} for user {user_id}")
        return session.pending()

    # -- what runs ask of it -------------------------------------------------------------------------------------------

    def new_invocation_id(self) -> str:
        """A fresh id for a run (ADK's prefix)."""
        return f"e-{new_event_id()}"

    def register(self, run: Run) -> None:
        """A run of this runner was subscribed; one that comes too late fails."""
        with self._lock:
            self._live.add(run)
            is_late = self._closed
        if is_late:
            run.fail(UsageError(_CLOSED))

    def forget(self, run: Run) -> None:
        """A run has ended."""
        with self._lock:
            self._live.discard(run)
        if run.outcome is not None:
            self._leftovers.ended(run.invocation.id, run.outcome.duration_ms / 1e3)

    def note_leftover(self, run: Run) -> None:
        """A run ends by its grace, while some of its work goes on."""
        self._leftovers.note(run)

    def forget_leftover(self, run: Run) -> None:
        """The last work of a run has ended."""
        self._leftovers.forget(run)

    def leftovers(self) -> list[Leftover]:
        """What has outlived its run: work beyond the grace, and threads and processes that tools have started.

        The last two of the newest 256 runs, where /proc tells of them.
        """
        return self._leftovers.all()

    # -- closing -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Dispose the runs, wait until they have ended, at most their grace period; close plugins and own services."""
        if self._begin_close():
            self._finish_close()

    async def aclose(self) -> None:
        """As `close`, without blocking the loop."""
        if self._begin_close():
            await aio.in_thread(self._finish_close)

    def _begin_close(self) -> bool:
        with self._lock:
            closed, self._closed = self._closed, True
            live = list(self._live)
        for run in live:
            run.dispose()
        return not closed

    def _finish_close(self) -> None:
        with self._lock:
            live = list(self._live)
        deadline = time.monotonic() + max((run.spec.run_config.cancel_grace_period for run in live), default=0.0) + 1.0
        for run in live:
            run.ended.wait(max(deadline - time.monotonic(), 0.0))
        scope = CancelScope()
        self.plugins.close(scope)
        if self._owns_service:
            guarded("close", lambda: settle(self.session_service.close(), scope))

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if aio.on_loop_thread():
            self._begin_close()
        else:
            self.close()

    async def __aenter__(self) -> Runner:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<Runner {self.app_name}: {self.agent!r}, {len(self._live)} runs>"


@cache
def _as_usual() -> RunConfig:
    """One for all runs: it never changes. Made when the first one needs it, as its validator takes some ms to build."""
    return RunConfig()
