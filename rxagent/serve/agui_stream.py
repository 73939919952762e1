"""AguiStream: the events of a run in AG-UI's words."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TypeAlias, final

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    Interrupt,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateDeltaEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentFinishedSuspendedOutcome,
    SubagentStartedEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from rxagent.events import new_event_id
from rxagent.events.confirmation import REQUEST_CONFIRMATION
from rxagent.events.state import REMOVED, TEMP_PREFIX
from rxagent.sessions import Question

from .agui_messages import result_text
from .agui_speech import Speech

__all__ = ["AguiStream"]

_Key: TypeAlias = tuple[str, str | None]  # author, branch
_CONFIRMED: Final = {
    "type": "object",
    "properties": {"confirmed": {"type": "boolean"}, "payload": {}},
    "required": ["confirmed"],
}


@final
class AguiStream:
    """Translates one run, given as JSON events, and closes what it has opened.

    root: name of the root agent; what other agents say belongs to subagents. modern: the client speaks AG-UI 1.0; an
    older one refuses the outcome `cancelled` and subagents, so it gets a plain end and a CUSTOM event that says more.
    client_tools: names of tools that the client runs. Their open calls are no interrupts: a run that makes them is
    complete, and names them (AG-UI 1.0, Tool Calls: frontend tools).
    """

    __slots__ = (
        "_asked",
        "_client_tools",
        "_modern",
        "_paused",
        "_root",
        "_speeches",
        "_subagents",
        "_thread",
        "_unanswered",
        "ids",
        "run_id",
        "state",
    )

    def __init__(
        self,
        thread_id: str,
        run_id: str,
        root: str,
        *,
        modern: bool,
        state: Mapping[str, Any],
        client_tools: Collection[str] = (),
    ) -> None:
        self._thread = thread_id
        self.run_id = run_id
        self._root = root
        self._modern = modern
        self._client_tools = frozenset(client_tools)
        self.state = dict(state)
        self.ids: dict[str, str] = {}  # event id -> message id
        self._speeches: dict[_Key, Speech] = {}
        self._subagents: dict[_Key, str] = {}
        self._paused: set[str] = set()  # calls whose results are provisional
        self._unanswered: dict[str, None] = {}  # calls of this run without a result, in their order
        self._asked: dict[str, str] = {}  # question -> the call that it is about

    @property
    def is_garbled(self) -> bool:
        """True when the client's copy of a text is not the whole."""
        return any(speech.is_garbled for speech in self._speeches.values())

    def begin(self, our_run_id: str) -> list[BaseEvent]:
        """The first event."""
        metadata = {"rxagent": {"runId": our_run_id}}
        version = "1.0" if self._modern else None
        started = RunStartedEvent(
            thread_id=self._thread, run_id=self.run_id, protocol_version=version, metadata=metadata
        )
        return [started]

    def answered(self, results: Mapping[str, Any]) -> list[BaseEvent]:
        """Results that the client itself has given to calls."""
        return [_result(new_event_id(), call_id, result, {}) for call_id, result in results.items()]

    def event(self, event: Mapping[str, Any]) -> list[BaseEvent]:
        """An event of the run."""
        key = event.get("author") or "", event.get("branch")
        parts: list[Mapping[str, Any]] = (event.get("content") or {}).get("parts") or []
        found, marks = self._enter(key)
        speech = self._speeches.get(key)
        if speech is None:
            speech = self._speeches[key] = Speech(key[0], marks)
        if event.get("partial"):
            return found + speech.partial(parts) + _progress(event.get("customMetadata") or {}, marks)
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if any(part.get("text") for part in parts) or calls:
            said, self.ids[event["id"]] = speech.whole(parts, event["id"])
            found += said
        self._paused.update(event.get("longRunningToolIds") or ())
        for call in calls:
            found += self._call(call, self.ids[event["id"]], marks)
        actions = event.get("actions") or {}
        self._paused.update(actions.get("requestedToolConfirmations") or ())
        for response in responses:
            found += self._response(event["id"], response, marks)
        found += self._changes(actions.get("stateDelta") or {})
        if actions.get("endOfAgent"):
            found += self._leave(key)
        return found

    def end(
        self, outcome: Mapping[str, Any], questions: Iterable[Question], error: str | None = None
    ) -> list[BaseEvent]:
        """What closes the stream."""
        interrupts = [self._interrupt(one) for one in questions if self._is_asked(one, outcome["kind"])]
        unsaved = [one.open_text for one in self._speeches.values() if one.open_text is not None]
        found = [event for speech in self._speeches.values() for event in speech.close()]
        found += self._leave_all(outcome, interrupts)
        if unsaved and outcome["kind"] != "completed":
            found.append(CustomEvent(name="rxagent.not_saved", value={"messageIds": unsaved}))
        return [*found, *self._last(dict(outcome), interrupts, error)]

    def _last(self, outcome: dict[str, Any], interrupts: list[Interrupt], error: str | None) -> list[BaseEvent]:
        usage = _usage(outcome.get("usage") or {})
        metadata = {"rxagent": {"outcome": outcome}}
        match outcome["kind"]:
            case "failed":
                text = error or outcome.get("error") or str(outcome.get("reason") or "the run failed")
                return [RunErrorEvent(message=text, code=outcome.get("reason"), usage=usage, metadata=metadata)]
            case "completed" | "paused":
                pending = list(self._unanswered) if self._modern else []
                complete = RunFinishedSuccessOutcome(pending_tool_call_ids=pending or None)
                how = RunFinishedInterruptOutcome(interrupts=interrupts) if interrupts else complete
                return [self._finished(outcome=how, usage=usage, metadata=metadata)]
            case _ if self._modern:
                return [self._finished(outcome=RunFinishedCancelledOutcome(), usage=usage, metadata=metadata)]
            case _:
                return [CustomEvent(name="rxagent.outcome", value=outcome), self._finished(usage=usage)]

    def _finished(self, **fields: Any) -> RunFinishedEvent:
        return RunFinishedEvent(thread_id=self._thread, run_id=self.run_id, **fields)

    # -- parts of an event ---------------------------------------------------------------------------------------------

    def _call(self, call: Mapping[str, Any], message_id: str, marks: Mapping[str, Any]) -> list[BaseEvent]:
        call_id, args = call.get("id") or "", call.get("args") or {}
        if call.get("name") == REQUEST_CONFIRMATION:
            self._asked[call_id] = (args.get("originalFunctionCall") or {}).get("id") or ""
            return []
        self._unanswered[call_id] = None
        start = ToolCallStartEvent(
            tool_call_id=call_id, tool_call_name=call.get("name") or "", parent_message_id=message_id, **marks
        )
        text = json.dumps(args, ensure_ascii=False)
        return [
            start,
            ToolCallArgsEvent(tool_call_id=call_id, delta=text, **marks),
            ToolCallEndEvent(tool_call_id=call_id, **marks),
        ]

    def _response(self, event_id: str, response: Mapping[str, Any], marks: Mapping[str, Any]) -> list[BaseEvent]:
        call_id = response.get("id") or ""
        if call_id in self._paused or response.get("name") == REQUEST_CONFIRMATION:
            return []
        self._unanswered.pop(call_id, None)
        return [_result(event_id, call_id, response.get("response"), marks)]

    def _changes(self, delta: Mapping[str, Any]) -> list[BaseEvent]:
        patch: list[dict[str, Any]] = []
        for name, value in delta.items():
            path = "/" + name.replace("~", "~0").replace("/", "~1")
            if name.startswith(TEMP_PREFIX):
                continue
            if value != REMOVED:
                patch.append({"op": "add", "path": path, "value": value})
                self.state[name] = value
            elif name in self.state:
                patch.append({"op": "remove", "path": path})
                del self.state[name]
        return [StateDeltaEvent.model_validate({"delta": patch})] if patch else []

    def _is_asked(self, question: Question, ending: str) -> bool:
        """True for what the client is to answer before it goes on.

        A confirmation that it has passed over is asked again: a run must not end as a success beside an open one (AG-UI
        1.0, Interrupts and Resume).
        """
        if question.kind == "confirmation":
            return ending in ("completed", "paused")
        return ending == "paused" and question.name not in self._client_tools

    def _interrupt(self, question: Question) -> Interrupt:
        asks = question.kind == "confirmation"
        fields: dict[str, Any] = {
            "id": question.call_id,
            "reason": "confirmation" if asks else "input_required",
            "message": question.hint
            or (f"May {question.name} run?" if asks else f"{question.name} waits for its result."),
            "metadata": {"name": question.name, "args": question.args, "payload": question.payload},
            "response_schema": _CONFIRMED if asks else {"type": "object"},
            "tool_call_id": self._asked.get(question.call_id) if asks else question.call_id,
        }
        return Interrupt(**{name: value for name, value in fields.items() if value is not None})

    # -- subagents -----------------------------------------------------------------------------------------------------

    def _enter(self, key: _Key) -> tuple[list[BaseEvent], dict[str, str]]:
        """The agent speaks: the one that spoke before it in the same place has ended."""
        found: list[BaseEvent] = []
        for other in [other for other in self._subagents if other[1] == key[1] and other != key]:
            found += self._leave(other)
        if key[0] == self._root or not self._modern:
            return found, {}
        if key not in self._subagents:
            self._subagents[key] = new_event_id()
            self._speeches.pop(key, None)
            found.append(SubagentStartedEvent(subagent_run_id=self._subagents[key], name=key[0]))
        return found, {"subagent_run_id": self._subagents[key]}

    def _leave(self, key: _Key) -> list[BaseEvent]:
        subagent_run_id = self._subagents.pop(key, None)
        if subagent_run_id is None:
            return []
        found = self._speeches[key].close()
        return [*found, SubagentFinishedEvent(subagent_run_id=subagent_run_id)]

    def _leave_all(self, outcome: Mapping[str, Any], interrupts: list[Interrupt]) -> list[BaseEvent]:
        ids, self._subagents = list(self._subagents.values()), {}
        if interrupts:
            waits = SubagentFinishedSuspendedOutcome()
            return [SubagentFinishedEvent(subagent_run_id=one, outcome=waits) for one in ids]
        if outcome["kind"] in ("completed", "paused"):
            return [SubagentFinishedEvent(subagent_run_id=one) for one in ids]
        text = str(outcome.get("reason") or outcome["kind"])
        return [SubagentErrorEvent(subagent_run_id=one, message=text, code=outcome["kind"]) for one in ids]


def _result(event_id: str, call_id: str, response: Any, marks: Mapping[str, Any]) -> ToolCallResultEvent:
    message_id = f"{event_id}/{call_id}"
    return ToolCallResultEvent(
        message_id=message_id, tool_call_id=call_id, content=result_text(response), role="tool", **marks
    )


def _progress(metadata: Mapping[str, Any], marks: Mapping[str, Any]) -> list[BaseEvent]:
    """What a tool reports while it runs; the protocol has no event for that."""
    told = metadata.get("tool_progress")
    if told is None:
        return []
    value = {"toolCallId": told["id"], "toolCallName": told["name"], "text": told["text"]}
    return [CustomEvent(name="rxagent.tool_progress", value=value, **marks)]


def _usage(usage: Mapping[str, Any]) -> list[TokenUsage] | None:
    if not usage.get("llmCalls"):
        return None
    return [
        TokenUsage(
            input_tokens=usage["promptTokens"],
            output_tokens=usage["candidatesTokens"],
            total_tokens=usage["totalTokens"],
        )
    ]
