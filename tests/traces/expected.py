"""What a trace must look like: ADK Java's, with the differences that rxagent means."""

from __future__ import annotations

import copy
import re
from typing import Any

from .comparer import Comparer, symbolised
from .player import play

__all__ = ["compared", "differing", "played"]

_PARTS = ("timeline", "runs", "log", "state", "requests")


def compared(file: Any, ours: Any = None) -> list[str]:
    """Play the file's scenario; every difference between what came and what is promised.

    ours: the parts in which rxagent means to differ, as they are to be.
    """
    expected, actual = played(file)
    expected.update(ours or {})
    comparer = Comparer()
    for part in _PARTS:
        comparer.compare(expected.get(part), actual[part], part)
    return comparer.differences


def differing(file: Any) -> dict[str, Any]:
    """The parts in which what came is not what ADK Java did, with ids as symbols."""
    expected, actual = played(file)
    actual = symbolised(actual)
    parts: dict[str, Any] = {}
    for part in _PARTS:
        comparer = Comparer()
        comparer.compare(expected.get(part), actual[part], part)
        if comparer.differences:
            parts[part] = actual[part]
    return parts


def played(file: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The trace of ADK Java, and rxagent's of this moment, in one form."""
    _scenario, expected, actual = file["scenario"], copy.deepcopy(file["trace"]), play(file["scenario"])
    _forgive_completions(expected, actual)
    expected, actual = _without_java(expected), _without_java(actual)
    if "timeline" in expected.get("unordered", []):
        actual["timeline"] = _by_lane(actual["timeline"])
    else:
        actual["timeline"] = [_without_lane(entry) for entry in actual["timeline"]]
    return expected, actual


def _forgive_completions(expected: Any, actual: Any) -> None:
    """A model call that is disposed here with what it belongs to is read to its end, unseen, by ADK Java's cache."""
    disposed = [(entry["model"], entry["n"]) for entry in actual["timeline"] if entry["t"] == "model_disposed"]

    def unseen(entry: Any) -> bool:
        return entry["t"] == "model_completed" and (entry["model"], entry["n"]) in disposed

    timeline = expected["timeline"]
    for lane in timeline.values() if isinstance(timeline, dict) else [timeline]:
        lane[:] = [entry for entry in lane if not unseen(entry)]


def _without_java(value: Any) -> Any:
    """Without what has no counterpart in Python, or is decided for all traces alike.

    - Java wraps checked exceptions of tools ("Failed to call tool"); Python has none.
    - `model_disposed`: ADK Java's step cache swallows the dispose; here a model call is always stopped with its run,
      which the promises J5 and J6 show.
    - what models are told of the built-in tools, and of other agents that may take over, is in rxagent's own words:
      compared are the names.
    - schemas: type names in capitals, titles, and the schema of a tool's response, which chat-completions has no place
      for.
    - the payload of a confirmation that has none.
    - the full stop at the end of an error's first sentence.
    """
    if isinstance(value, list):
        return [
            _without_java(item) for item in value if not (isinstance(item, dict) and item.get("t") == "model_disposed")
        ]
    if not isinstance(value, dict):
        return value
    if str(value.get("message", "")).startswith("Failed to call tool") and "cause" in value:
        return _without_java(value["cause"])
    plain = {key: _without_java(item) for key, item in value.items()}
    if {"hint", "confirmed"} <= plain.keys() and plain.get("payload", 0) is None:
        del plain["payload"]
    if "system_instruction" in plain:
        plain["system_instruction"] = _own_words(plain["system_instruction"])
    if plain.get("name") in _BUILT_IN and "description" in plain:
        return {"name": plain["name"]}
    if isinstance(plain.get("parameters"), dict):
        plain["parameters"] = _schema(plain["parameters"])
        plain.pop("response", None)
    if isinstance(plain.get("response_schema"), dict):
        plain["response_schema"] = _schema(plain["response_schema"])
    if "class" in plain and isinstance(plain.get("message"), str):
        plain["message"] = plain["message"].rstrip(".")
    return plain


def _schema(value: Any) -> Any:
    if isinstance(value, list):
        return [_schema(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _schema(item) for key, item in value.items() if key != "title"}
    return {**kept, "type": kept["type"].lower()} if isinstance(kept.get("type"), str) else kept


_BUILT_IN = frozenset({"transfer_to_agent", "exit_loop", "set_model_response"})


def _own_words(instruction: str) -> str:
    """The instruction with the passage about other agents cut down to their names."""
    theirs = re.search(
        r"\n\n\nYou have a list of other agents.*?function are (.*?)\.\n(.*?)(\n\n|$)", instruction, re.S
    )
    ours = re.search(r"Other agents can take over.*?No other names are known than (.*?)\.(.*)", instruction, re.S)
    for found in (theirs, ours):
        if found is not None:
            start = instruction[: found.start()].rstrip()
            parent = " and a parent" if "parent" in found.group(2) else ""
            return f"{start} <may hand over to {found.group(1)}{parent}>"
    return instruction


def _by_lane(timeline: list[Any]) -> dict[str, list[Any]]:
    lanes: dict[str, list[Any]] = {}
    for entry in timeline:
        lanes.setdefault(entry["_lane"], []).append(_without_lane(entry))
    return lanes


def _without_lane(entry: Any) -> Any:
    return {key: value for key, value in entry.items() if key != "_lane"}
