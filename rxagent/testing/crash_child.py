"""What the processes of crash_everywhere do: play the scenario, go on with a message, resume."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from rxagent.events import Content, Event, Message
from rxagent.events.confirmation import asked_about
from rxagent.events.pairing import Pairing, open_calls
from rxagent.history.sealing import is_seal
from rxagent.invocation import RunConfig, ToolContext
from rxagent.plugins import BasePlugin, PluginManager
from rxagent.runner import Runner
from rxagent.sessions import Session, SqliteSessionService
from rxagent.tools import BaseTool

from .invariants import asks_first, log_faults, request_faults
from .probe import Probe, ProbePlugin, watched_service

__all__ = ["CrashScenario", "go_on", "play", "resume"]

_NEXT: Final = "And now go on, please."
_ANSWER: Final = "Understood."
_QUESTIONS: Final = 50  # asked one after the other; more is a scenario without an end
_NEXT_CALLS: Final = 50  # a loop agent without a limit of its own must not make the next turn endless


class CrashScenario(NamedTuple):
    """What is run; the fields are the arguments of crash_everywhere."""

    make_runner: Callable[[SqliteSessionService], Runner]
    message: Content
    answer: Callable[[Session], Message] | None
    run_config: RunConfig
    user_id: str
    session_id: str


def play(scenario: CrashScenario, file: Path, stop_at: str | None = None) -> dict[str, Any]:
    """The scenario on a new file, to its end, or until this process is killed at an append."""
    with _opened(scenario, file) as desk:
        probe = Probe(stop_at)
        probe.arm(lambda: os.kill(os.getpid(), signal.SIGKILL))
        watch = ProbePlugin(probe, scenario.session_id)
        if stop_at is None:
            desk.equip(watch)
        with watch.watching, watched_service(desk.runner.session_service, probe):
            desk.run(scenario.message)
            desk.answer_questions()
        return {
            "points": list(_appends(probe.points)),
            "faults": [*desk.faults, *log_faults(desk.events())],
            "log": _outline(desk.events()),
            "is_resumable": desk.runner.resumability.resumable,
        }


def go_on(scenario: CrashScenario, file: Path) -> dict[str, Any]:
    """A plain message on what was left; the models' places are taken by one that agrees to everything."""
    with _opened(scenario, file) as desk:
        before = desk.events()
        plugin = ProbePlugin(Probe(), scenario.session_id, answer_with=_ANSWER)
        desk.equip(plugin)
        desk.faults += [f"as it was left: {fault}" for fault in log_faults(before)]
        desk.run(Content.user(_NEXT), RunConfig(max_llm_calls=_NEXT_CALLS))
        events = desk.events()
        desk.faults += [f"a request: {fault}" for asked in plugin.requests for fault in request_faults(asked)]
        desk.faults += [*log_faults(events), *_changed(before, events)]
        new = [event for event in events[len(before) :] if not is_seal(event)]
        if not new or new[0].text != _NEXT:
            desk.faults.append("the message is not the first that was stored, seals apart")
        if _ANSWER not in {event.text for event in new}:
            desk.faults.append("no agent has answered")
        desk.faults += [f"still open: {call}" for call in open_calls(events) if not call.long_running]
        return {"faults": desk.faults}


def resume(scenario: CrashScenario, file: Path, whole: Mapping[str, Any]) -> dict[str, Any]:
    """Go on with the invocation that was cut, by its id, and with the questions after it. whole: the run never cut."""
    with _opened(scenario, file) as desk:
        before = desk.events()
        invocation_id = next((event.invocation_id for event in before), None)
        if invocation_id is None:
            return {"faults": [], "resumed": False}  # killed before anything was stored
        started = _Started()
        desk.equip(started)
        desk.run(None, invocation_id=invocation_id)
        desk.faults += _replay_faults(before, started.ids)
        desk.answer_questions()
        events = desk.events()
        desk.faults += [*log_faults(events), *_changed(before, events)]
        outline = _outline(events)
        if outline != whole["log"]:
            desk.faults.append(f"the log ends up as {outline}, that of the whole run is {whole['log']}")
        return {"faults": desk.faults, "resumed": True}


def _appends(points: Sequence[str]) -> Iterator[str]:
    """The instants around appends; that before one is left out when no model or tool was at work since the last."""
    work = True
    for point in points:
        if point.startswith("append"):
            if work or point.endswith("stored"):
                yield point
            work = False
        elif point.startswith(("model", "tool")):
            work = True


class _Started(BasePlugin):
    """Notes which calls are run."""

    def __init__(self) -> None:
        super().__init__("rxagent_crash")
        self.ids: list[str] = []

    def before_tool_callback(self, tool: BaseTool, args: dict[str, Any], ctx: ToolContext) -> None:
        self.ids.append(ctx.function_call_id)


class _Desk:
    """A runner at work on the scenario's session, and what was wrong."""

    def __init__(self, scenario: CrashScenario, runner: Runner, service: SqliteSessionService) -> None:
        self.runner = runner
        self.faults: list[str] = []
        self._scenario = scenario
        self._service = service
        self._own_plugins = runner.plugins.plugins

    def equip(self, plugin: BasePlugin) -> None:
        """Put a plugin before the runner's own."""
        self.runner.plugins = PluginManager((plugin, *self._own_plugins))

    def run(
        self, message: Message | None, run_config: RunConfig | None = None, *, invocation_id: str | None = None
    ) -> None:
        """One run to its end."""
        where = self._scenario.user_id, self._scenario.session_id
        try:
            list(self.runner.run(*where, message, run_config or self._scenario.run_config, invocation_id=invocation_id))
        except Exception as error:
            self.faults.append(f"the run fails: {error!r}")

    def answer_questions(self) -> None:
        """Answer what is pending, until nothing is."""
        answer = self._scenario.answer
        if answer is None:
            return
        for _ in range(_QUESTIONS):
            session = self._session()
            if session is None or not session.pending() or self.faults:
                return
            self.run(answer(session))
        self.faults.append(f"after {_QUESTIONS} answers a question is still pending")

    def events(self) -> list[Event]:
        """The log as it is stored."""
        session = self._session()
        return [] if session is None else session.events

    def _session(self) -> Session | None:
        return self._service.get_session(self.runner.app_name, self._scenario.user_id, self._scenario.session_id)


@contextmanager
def _opened(scenario: CrashScenario, file: Path) -> Iterator[_Desk]:
    service = SqliteSessionService(str(file))
    with scenario.make_runner(service) as runner:
        if runner.session_service is not service:
            raise AssertionError("make_runner must give its Runner the service: session_service=service")
        yield _Desk(scenario, runner, service)
    service.close()


def _changed(before: Sequence[Event], after: Sequence[Event]) -> Iterator[str]:
    if list(after[: len(before)]) != list(before):
        yield "what was stored before is another now"


def _replay_faults(before: Sequence[Event], started: Sequence[str]) -> Iterator[str]:
    """What is wrong with the calls that a resume has run."""
    for id in sorted({id for id in started if started.count(id) > 1}):
        yield f"the call {id} was run {started.count(id)} times"
    calls = Pairing(before).calls
    undecided = {asked[0].id for one in calls if not one.is_answered and (asked := asked_about(one.function_call))}
    for call in calls:
        if call.long_running or call.call_id in undecided:
            continue
        is_done = any(not asks_first(call, reply) for reply in call.replies)
        if not is_done and call.call_id not in started:
            yield f"{call} was cut, and is not run again under its id"
        if is_done and call.call_id in started:
            yield f"{call} had its response, and was run again"


def _outline(events: Sequence[Event]) -> dict[str, list[list[Any]]]:
    """What was said and done, branch by branch, without what differs from run to run.

    That is the ids, and the provisional responses of tools that ask first, which a cut may have kept from the log.
    """
    branches: dict[str, list[list[Any]]] = {}
    for event in events:
        said = [event.text, *_calls(event)]
        if any(said):
            branches.setdefault(event.branch or "", []).append([event.author, *said])
    ids = {call.call_id: f"(id of {call.name})" for call in Pairing(events).calls if call.call_id}
    ids |= {event.invocation_id: "(id of the run)" for event in events if event.invocation_id}
    text = json.dumps(branches)
    for id, name in ids.items():
        text = text.replace(id, name)
    outline: dict[str, list[list[Any]]] = json.loads(text)
    return outline


def _calls(event: Event) -> list[list[Any]]:
    calls = [[call.name, call.args] for call in event.function_calls]
    asking = event.actions.requested_tool_confirmations
    answers = [[one.name, one.response] for one in event.function_responses if one.id not in asking]
    return [*calls, *answers]
