"""Player: plays a scenario against rxagent and gives its trace."""

from __future__ import annotations

import contextlib
import json
import threading
from typing import Any

from reactivex.disposable import SingleAssignmentDisposable

from rxagent.events import Event, Part
from rxagent.invocation import AbortSignal, ResumabilityConfig, RunConfig
from rxagent.models import BaseLlm
from rxagent.runner import App, Runner

from .played_agents import make_agent
from .played_model import PlayedModel
from .played_plugin import PlayedPlugin
from .played_sessions import LoggingSessions
from .recorder import Recorder
from .views import content_of, error_view, event_view, what

__all__ = ["APP", "PlayedRun", "Playing", "is_single_agent", "play"]

APP = "app"


def is_single_agent(scenario: Any) -> bool:
    """True when the scenario has one LLM agent, and no agent as a tool."""
    agent = scenario["agent"]
    tools = agent.get("tools", [])
    return (
        agent.get("type", "llm") == "llm"
        and not agent.get("sub_agents")
        and not any(tool.get("kind") in ("agent_tool", "exit_loop") for tool in tools)
    )


def play(scenario: Any) -> dict[str, Any]:
    """What rxagent does with the scenario, in the form of a trace (with real ids, not symbols)."""
    return Playing(scenario).play()


class PlayedRun:
    """A run of the scenario, and its consumer."""

    def __init__(self, recorder: Recorder, index: int, declared: Any) -> None:
        self._recorder = recorder
        self.index = index
        self.declared = declared
        self.emitted: list[Any] = []
        self.end: str | None = None
        self.error: BaseException | None = None
        self.stream: Any = None
        self.handle = SingleAssignmentDisposable()
        self.signal = AbortSignal()
        self.over = threading.Event()
        self._lock = threading.Lock()

    def on_next(self, event: Event) -> None:
        self.emitted.append(event_view(event))
        n = len(self.emitted)
        lane = self._recorder.lane_of(event.author)
        self._recorder.add("emit", lane, run=self.index, n=n, event=event.id, what=what(event))
        if self.declared.get("dispose_after_events") == n:
            self.leave()
        if self.declared.get("abort_after_events") == n:
            self.signal.set()

    def on_error(self, error: Exception) -> None:
        self.error = error
        self._finish("error")

    def on_completed(self) -> None:
        self._finish("completed")

    def leave(self) -> None:
        with self._lock:
            if self.end is not None:
                return
            self.end = "disposed"
        self._recorder.add("dispose_called", run=self.index)
        self.handle.dispose()
        self._recorder.add("dispose_returned", run=self.index)
        self.over.set()

    def _finish(self, kind: str) -> None:
        with self._lock:
            self.end = kind
        self._recorder.add("end", run=self.index, kind=kind)
        self.over.set()


class Playing:
    def __init__(self, scenario: Any) -> None:
        self.scenario = scenario
        self.recorder = Recorder(_lanes(scenario["agent"], ""), bool(scenario.get("spread_clock")))
        self.sessions = LoggingSessions(self.recorder, scenario.get("session_service", {}))
        self._models: dict[str, BaseLlm] = {}
        self.runner = self.make_runner(scenario["agent"])
        self.runs = [PlayedRun(self.recorder, index, declared) for index, declared in enumerate(scenario["runs"])]

    def make_runner(self, declared_agent: Any) -> Runner:
        """A runner of this agent; models and session service are those of the whole playing."""
        agent = make_agent(self.recorder, declared_agent, self._model)
        app = self.scenario.get("app", {})
        plugins = [PlayedPlugin(self.recorder, "rec", {})]
        plugins += [PlayedPlugin(self.recorder, one["name"], one["hooks"]) for one in app.get("plugins", [])]
        more: dict[str, Any] = {}
        if app.get("resumable"):
            more["resumability_config"] = self.resumability()
        if "compaction" in app:
            more["events_compaction_config"] = self._compaction(app["compaction"])
        return Runner(
            app=App(APP, root_agent=agent, plugins=plugins, **more),
            session_service=self.sessions,
            auto_create_session=False,
        )

    def resumability(self) -> ResumabilityConfig:
        """What `resumable` means in these traces: the feature of ADK Java 1.8, which is the older flow here."""
        return ResumabilityConfig(plain_text_continuation_auto_resume=True)

    def _model(self, name: str, lane: str) -> BaseLlm:
        if name not in self._models:
            self._models[name] = PlayedModel(self.recorder, name, self.scenario["models"].get(name, {}), lane)
        return self._models[name]

    def _compaction(self, declared: Any) -> Any:
        from rxagent import EventsCompactionConfig, LlmEventSummarizer

        summarizer = LlmEventSummarizer(self._model(declared["summarizer_model"], ""))
        names = {
            "interval": "compaction_interval",
            "overlap": "overlap_size",
            "token_threshold": "token_threshold",
            "retention": "event_retention_size",
        }
        fields = {names[key]: value for key, value in declared.items() if key in names}
        return EventsCompactionConfig(summarizer=summarizer, **fields)

    def play(self) -> dict[str, Any]:
        self.prepare()
        self.sessions.recording = True
        with contextlib.closing(self.runner):
            if "steps" in self.scenario:
                for step in self.scenario["steps"]:
                    self._step(step)
            else:
                for run in self.runs:
                    self.subscribe(run)
                    run.over.wait(5)
                    self.recorder.settle()
            for run in self.runs:
                run.over.wait(1 if self.scenario.get("hangs") else 5)
            self.recorder.settle()
            self.sessions.recording = False
            return self._result()

    def prepare(self) -> None:
        for declared in self.scenario.get("sessions", [{}]):
            user, id = declared.get("user_id", "u"), declared.get("session_id", "s")
            state = declared.get("state", {})
            kept = {key: value for key, value in state.items() if not key.startswith("temp:")}
            session: Any = self.sessions.create_session(APP, user, kept, id)
            for event in declared.get("events", []):
                self.sessions.append_event(session, Event.model_validate(event))
            for name, part in declared.get("artifacts", {}).items():
                self.runner.artifact_service.save_artifact(APP, user, id, name, Part.model_validate(part))

    def _step(self, step: Any) -> None:
        if "await" not in step:
            self.recorder.add("step", do=step)
        if "subscribe" in step:
            self.subscribe(self.runs[step["subscribe"]])
        elif "open" in step:
            self.recorder.gate(step["open"]).open()
        elif "dispose" in step:
            self.runs[step["dispose"]].leave()
        elif step["await"].get("t") == "interrupted":
            pass  # a thread of Python cannot be interrupted
        elif not self.recorder.wait_for(step["await"]):
            raise AssertionError(f"never happened: {step}")
        self.recorder.settle()

    def invocation_id(self, declared: str | None) -> str | None:
        """The id of the invocation that a run resumes."""
        return declared

    def subscribe(self, run: PlayedRun) -> None:
        declared = run.declared
        if "dispose_when" in declared:
            self.recorder.trigger(declared["dispose_when"], run.leave)
        if "abort_when" in declared:
            self.recorder.trigger(declared["abort_when"], run.signal.set)
        if declared.get("abort_at_start"):
            run.signal.set()
        try:
            message = self._resolved(declared.get("new_message"))
            run.stream = self.runner.run_async(
                declared.get("user_id", "u"),
                declared.get("session_id", "s"),
                None if message is None else content_of(message),
                _config(declared.get("run_config", {})),
                state_delta={**self._temporary(declared), **declared.get("state_delta", {})},
                invocation_id=self.invocation_id(declared.get("invocation_id")),
                abort_signal=run.signal,
            )
        except Exception as error:
            run.error, run.end = error, "threw"
            run.over.set()
            return
        if "same_stream_as" in declared:
            run.stream = self.runs[declared["same_stream_as"]].stream
        with self.recorder.subscribing():
            run.handle.disposable = run.stream.subscribe(run)

    def _temporary(self, run: Any) -> dict[str, Any]:
        """The `temp:` keys of the session's declared state: no session keeps them here, so that a run brings them."""
        key = (run.get("user_id", "u"), run.get("session_id", "s"))
        return {
            name: value
            for declared in self.scenario.get("sessions", [])
            if (declared.get("user_id", "u"), declared.get("session_id", "s")) == key
            for name, value in declared.get("state", {}).items()
            if name.startswith("temp:")
        }

    def _resolved(self, value: Any) -> Any:
        """`$call:NAME#K` is the id of the K-th call of NAME in the log of session u/s, from 0."""
        if isinstance(value, str) and value.startswith("$call:"):
            name, _, number = value[6:].partition("#")
            session: Any = self.sessions.peek(APP, "u", "s")
            ids = [call.id for event in session.events for call in event.function_calls if call.name == name]
            return ids[int(number)]
        if isinstance(value, dict):
            return {key: self._resolved(item) for key, item in value.items()}
        return [self._resolved(item) for item in value] if isinstance(value, list) else value

    # -- the trace -----------------------------------------------------------------------------------------------------

    def _result(self) -> dict[str, Any]:
        trace: dict[str, Any] = {"runs": []}
        for run in self.runs:
            terminal: dict[str, Any] = {"kind": run.end or "hanging"}
            if run.error is not None:
                terminal["error"] = error_view(run.error)
            trace["runs"].append({"emitted": run.emitted, "terminal": terminal})
        declared = [*self.scenario.get("sessions", [{}]), *self.scenario["runs"]]
        keys = dict.fromkeys((one.get("user_id", "u"), one.get("session_id", "s")) for one in declared)
        logs, states = {}, {}
        for user, id in keys:
            session: Any = self.sessions.get_session(APP, user, id)
            if session is not None:
                logs[f"{user}/{id}"] = self._log(session)
                states[f"{user}/{id}"] = {
                    "session": dict(session.state),
                    "user": self._shared(user, "user:"),
                    "app": self._shared("probe-user", "app:"),
                }
        one = len(logs) == 1
        trace["log"] = next(iter(logs.values())) if one else logs
        trace["state"] = next(iter(states.values())) if one else states
        trace["timeline"] = self.recorder.timeline
        trace["requests"] = self.recorder.requests
        return trace

    def _log(self, session: Any) -> list[Any]:
        log: list[Any] = []
        first: dict[int, str] = {}
        last: dict[int, str] = {}
        for event in session.events:
            view = event_view(event)
            first.setdefault(event.timestamp, event.id)
            last[event.timestamp] = event.id
            then = self.sessions.as_appended.get(event.id)
            if then is not None and then != view:
                view["_when_appended"] = then
            compaction = view.get("actions", {}).get("compaction")
            if compaction is not None:
                compaction["startTimestamp"] = first.get(compaction["startTimestamp"])
                compaction["endTimestamp"] = last.get(compaction["endTimestamp"])
            log.append(view)
        return log

    def _shared(self, user: str, prefix: str) -> dict[str, Any]:
        probe: Any = self.sessions.create_session(APP, user, None, None)
        found = {key.removeprefix(prefix): value for key, value in probe.state.items() if key.startswith(prefix)}
        self.sessions.delete_session(APP, user, probe.id)
        return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def _lanes(agent: Any, lane: str) -> dict[str, str]:
    """Below a parallel agent every direct sub-agent's subtree is one lane."""
    lanes = {agent["name"]: lane}
    parallel = agent.get("type") == "parallel"
    for sub in agent.get("sub_agents", []):
        below = f"{lane}/{sub['name']}" if lane else sub["name"]
        lanes.update(_lanes(sub, below if parallel else lane))
    for tool in agent.get("tools", []):
        if "agent" in tool:
            lanes.update(_lanes(tool["agent"], lane))
    return lanes


def _config(declared: Any) -> RunConfig:
    lower: dict[str, Any] = {key: value.lower() if isinstance(value, str) else value for key, value in declared.items()}
    return RunConfig(**lower)
