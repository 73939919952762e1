"""What the tests of runs share: a runner over a script, a consumer that keeps what it saw, a watched service."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from typing import Any

from reactivex import abc

from rxagent.agents import LlmAgent
from rxagent.events import Event
from rxagent.invocation import InvocationContext, Outcome, RunConfig
from rxagent.models import BaseLlm
from rxagent.plugins import BasePlugin
from rxagent.runner import Runner
from rxagent.sessions import BaseSessionService, InMemorySessionService
from rxagent.testing.scripted_model import ScriptedModel

__all__ = [
    "APP",
    "SSE",
    "USER",
    "Consumer",
    "Ends",
    "Gate",
    "blocks",
    "log",
    "put",
    "runner_of",
    "said",
    "watch",
    "within",
    "words_of",
]

APP, USER = "app", "me"
SSE = RunConfig(streaming_mode="sse")
LIMIT = 10.0
"""Seconds that no wait of a passing test takes."""


class Ends(BasePlugin):
    """Keeps what was told of the ends of runs."""

    def __init__(self) -> None:
        super().__init__("ends")
        self.after_run: list[str] = []
        self.outcomes: list[Outcome] = []
        self._told: SimpleQueue[Outcome] = SimpleQueue()

    def after_run_callback(self, ctx: InvocationContext) -> None:
        self.after_run.append(ctx.invocation_id)

    def on_run_end(self, ctx: InvocationContext, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self._told.put(outcome)

    def next(self) -> Outcome:
        """The next outcome that nobody has taken."""
        return self._told.get(timeout=LIMIT)


class Gate:
    """Something that begins, and then waits to be let through: a tool, a hook, a method of a service."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()
        self.left = threading.Event()

    def __call__(self, *_: object) -> None:
        self.entered.set()
        assert self.opened.wait(LIMIT)
        self.left.set()


class Consumer:
    """Subscribes, and keeps what it saw. on_next: called with each event, after it was noted."""

    def __init__(self, on_next: Callable[[Event], object] | None = None) -> None:
        self.events: list[Event] = []
        self.ends: list[str] = []
        self.error: Exception | None = None
        self.handle: abc.DisposableBase | None = None
        self.threads: set[int] = set()
        self._also = on_next
        self._seen: SimpleQueue[Event] = SimpleQueue()
        self._ended = threading.Event()

    def of(self, stream: Any) -> Consumer:
        """Subscribe to a stream."""
        self.handle = stream.subscribe(self._on_next, self._on_error, lambda: self._end("completed"))
        return self

    def dispose(self) -> None:
        assert self.handle is not None
        self.handle.dispose()

    def wait(self) -> Consumer:
        """Wait for the end."""
        assert self._ended.wait(LIMIT), f"no end; seen: {said(self.events)}"
        return self

    def next(self) -> Event:
        """The next event that nobody has taken; waits for it."""
        try:
            return self._seen.get(timeout=LIMIT)
        except Empty:
            raise AssertionError(f"no further event; seen: {said(self.events)}, {self.ends}, {self.error!r}") from None

    @property
    def finals(self) -> list[Event]:
        return [event for event in self.events if not event.partial]

    def _on_next(self, event: Event) -> None:
        self.threads.add(threading.get_ident())
        self.events.append(event)
        self._seen.put(event)
        if self._also is not None:
            self._also(event)

    def _on_error(self, error: Exception) -> None:
        self.error = error
        self._end("error")

    def _end(self, how: str) -> None:
        self.ends.append(how)
        self._ended.set()


def runner_of(
    model: BaseLlm | Iterable[Any] = ("Hello.",),
    *,
    tools: Iterable[Any] = (),
    service: BaseSessionService | None = None,
    plugins: Iterable[BasePlugin] = (),
    auto_create_session: bool = True,
    **agent: Any,
) -> Runner:
    """A runner of one agent. model: a model, or the turns of a script."""
    if not isinstance(model, BaseLlm):
        model = ScriptedModel(*model)
    return Runner(
        LlmAgent(name="agent", model=model, tools=tools, **agent),
        app_name=APP,
        session_service=service or InMemorySessionService(),
        plugins=plugins,
        auto_create_session=auto_create_session,
    )


def log(runner: Runner, session_id: str = "s") -> list[Event]:
    """The events of a session as stored; none when there is no session."""
    session: Any = runner.session_service.get_session(APP, USER, session_id)
    return [] if session is None else list(session.events)


def put(runner: Runner, *events: Event, session_id: str = "s") -> None:
    """Store events at the end of a session, as a user of the service does; the session is created when it is new."""
    service: Any = runner.session_service
    session = service.get_session(APP, USER, session_id)
    if session is None:
        session = service.create_session(APP, USER, session_id=session_id)
    for event in events:
        service.append_event(session, event)


def said(events: Iterable[Event]) -> list[str]:
    """Events in short words: `user: Hi`, `agent: call(work)`, `agent: response(work)`, `agent~ a partial`."""
    return [f"{event.author}{'~' if event.partial else ':'} {words_of(event)}" for event in events]


def blocks(events: list[Event]) -> list[list[str]]:
    """The log cut at its user events; each block must be of one invocation."""
    found: list[list[Event]] = []
    for event in events:
        if event.author == "user":
            found.append([])
        found[-1].append(event)
    assert all(len({event.invocation_id for event in block}) == 1 for block in found)
    return [said(block) for block in found]


def words_of(event: Event) -> str:
    """Its texts, and `call(name)` and `response(name)`."""
    words = []
    for part in event.parts or ():
        if part.function_call is not None:
            words.append(f"call({part.function_call.name})")
        elif part.function_response is not None:
            words.append(f"response({part.function_response.name})")
        elif part.text:
            words.append(part.text)
    return " ".join(words)


def watch(service: BaseSessionService, name: str, before: Callable[..., object] | None = None) -> list[str]:
    """Have `before(*args)` called ahead of each call of a method of this service; returns the names, as they come."""
    calls: list[str] = []
    plain = getattr(service, name)

    def watched(*args: Any, **options: Any) -> Any:
        calls.append(name)
        if before is not None:
            before(*args)
        return plain(*args, **options)

    setattr(service, name, watched)
    return calls


def within(condition: Callable[[], bool], seconds: float = LIMIT) -> bool:
    """True when it becomes true in time; for what nobody can be told of (a collected object, a thread that is gone)."""
    waiting, deadline = threading.Event(), seconds
    while not condition():
        if deadline <= 0:
            return False
        waiting.wait(0.005)
        deadline -= 0.005
    return True
