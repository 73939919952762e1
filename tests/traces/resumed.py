"""ADK Python's recordings of resumable apps, replayed: the runs that each file names.

Compared are a run's events, its end, and what it has added to the log, apart from what the two ADKs and rxagent say
differently everywhere: see `_as_here`.
"""

from __future__ import annotations

import threading
from typing import Any

from rxagent.history.sealing import ABORTED
from rxagent.invocation import ResumabilityConfig

from .comparer import Comparer
from .player import APP, PlayedRun, Playing
from .views import event_view

__all__ = ["differences", "kept"]

_TRANSFER = "transfer_to_agent"
_QUESTION = "adk_request_confirmation"
_BUSY = 0.3  # seconds after which the gate of that name opens by itself


def kept(file: Any) -> list[tuple[str, list[int]]]:
    """The recordings in the file, each with the runs to compare."""
    named = {"trace": file["compare"].get("keep"), "trace1": file["compare"].get("keep1")}
    return [(trace, runs) for trace, runs in named.items() if runs]


def differences(file: Any, trace: str, runs: list[int]) -> list[str]:
    """Play the scenario up to the last of these runs; every difference in them."""
    recorded = file[trace]
    played = _Resumed(file["scenario"], max(runs)).play_runs()
    comparer = Comparer()
    log = {event["id"]: event for event in recorded["log"]}
    for index in runs:
        expected, actual = recorded["runs"][index], played[index]
        where = f"runs[{index}]"
        comparer.compare(expected["terminal"]["kind"], actual["kind"], f"{where}.kind")
        stored = [log[id] for id in expected["persisted"]]
        comparer.compare(_as_here(stored), _as_here(actual["stored"]), f"{where}.stored")
        comparer.compare(_as_here(expected["emitted"]), _as_here(actual["emitted"]), f"{where}.emitted")
    return comparer.differences


class _Resumed(Playing):
    """Each run has a runner and an agent tree of its own, over the same sessions, as in another process."""

    def __init__(self, scenario: Any, last: int) -> None:
        super().__init__(scenario)
        self._ids: dict[int, str] = {}
        del self.runs[last + 1 :]

    def resumability(self) -> ResumabilityConfig:
        return ResumabilityConfig(resumable=self.scenario.get("app", {}).get("resumable", True))

    def invocation_id(self, declared: str | None) -> str | None:
        if declared is not None and declared.startswith("$invocation:"):
            return self._ids[int(declared.partition(":")[2])]
        return declared

    def play_runs(self) -> list[Any]:
        self.prepare()
        self.runner.close()
        self.sessions.recording = True
        return [self._play_run(run) for run in self.runs]

    def _play_run(self, run: PlayedRun) -> dict[str, Any]:
        before = len(self.sessions.peek(APP, "u", "s").events)
        self.recorder.trigger({"t": "gate_wait", "gate": "busy"}, self._open_later)
        self.runner = self.make_runner(run.declared.get("agent", self.scenario["agent"]))
        self.subscribe(run)
        run.over.wait(5)
        self.recorder.settle()
        self.runner.close()
        stored = self.sessions.peek(APP, "u", "s").events[before:]
        fresh = [event.invocation_id for event in stored if event.author == "user"] or [
            run.declared.get("invocation_id")
        ]
        self._ids[run.index] = self.invocation_id(fresh[-1]) or ""
        kind = "error" if run.end == "threw" else run.end
        return {"kind": kind, "emitted": run.emitted, "stored": [event_view(event) for event in stored]}

    def _open_later(self) -> None:
        timer = threading.Timer(_BUSY, self.recorder.gate("busy").open)
        timer.daemon = True
        timer.start()


def _as_here(events: list[Any]) -> list[Any]:
    """The events without the standing differences of the two ADKs, by branch: branches take turns as they like.

    A transfer answers `{}`, not `{"result": null}`; the question's event has the role "user"; the result that is
    provisional skips no summary; an error is no event; partial events have ids of their own; no payload is no field; a
    seal says what it knows and why, not one fixed sentence.
    """
    plain = [_plain(event) for event in events if not event.get("partial") and not _is_error(event)]
    return sorted(plain, key=lambda event: event.get("branch") or "")


def _is_error(event: Any) -> bool:
    return "errorCode" in event and "content" not in event and event["errorCode"] != ABORTED


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _plain(item) for key, item in value.items() if key not in ("partial", "usageMetadata")}
    if plain.get("errorCode") == ABORTED:
        plain.pop("errorMessage", None)
        plain.pop("customMetadata", None)
        for part in plain.get("content", {}).get("parts", ()):
            part["functionResponse"].pop("response", None)
    if plain.get("name") == _TRANSFER and "response" in plain:
        plain["response"] = {}
    if {"hint", "confirmed"} <= plain.keys() and plain.get("payload", 0) is None:
        del plain["payload"]
    actions = plain.get("actions")
    if isinstance(actions, dict) and "requestedToolConfirmations" in actions:
        actions.pop("skipSummarization", None)
    content = plain.get("content")
    if isinstance(content, dict) and any(
        part.get("functionCall", {}).get("name") == _QUESTION for part in content.get("parts", [])
    ):
        del content["role"]
    return plain
