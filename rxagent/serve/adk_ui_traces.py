"""The runs of a session and their model calls, as the spans that ADK's UI shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, final

from rxagent.runner import Runner
from rxagent.streams import aio

from .desk import Desk
from .recording import ModelCalls, RecordedCall
from .run_record import RunRecord
from .run_table import RunFilter

__all__ = ["SessionTraces"]

_MOST: Final = 100  # runs of one session, the latest
_NANOSECONDS: Final = 1e9


@final
class SessionTraces:
    """Reads the table of runs, and what the plugin `ModelCalls` remembers when a runner has it."""

    __slots__ = ("_desk",)

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def of(self, runner: Runner, session_id: str) -> list[dict[str, Any]]:
        """The spans of a session: one for each run that has ended, with one for each model call that had an answer."""
        runs = await self._desk.runs(RunFilter(runner.app_name, None, session_id), _MOST)
        calls = next((one for one in runner.plugins.plugins if isinstance(one, ModelCalls)), None)
        return await aio.in_thread(lambda: [span for run in reversed(runs) for span in _spans(run, calls)])


def _spans(run: RunRecord, calls: ModelCalls | None) -> Iterator[dict[str, Any]]:
    if run.ended_at is None:
        return
    common = {"gen_ai.conversation.id": run.key.session_id, "gcp.vertex.agent.invocation_id": run.invocation_id}
    root = _span(run, "invocation", run.run_id, run.started_at, run.ended_at, common)
    yield {**root, "parent_span_id": None}
    for number, call in enumerate(calls.of_invocation(run.invocation_id) if calls is not None else ()):
        if (
            call.last is not None and run.started_at <= call.began <= run.ended_at
        ):  # else of a run that this one resumes
            attributes = {**common, **_attributes(call)}
            span = _span(run, "call_llm", f"{run.run_id}-{number}", call.began, call.last, attributes)
            yield {**span, "parent_span_id": run.run_id}


def _span(run: RunRecord, name: str, span_id: str, began: float, ended: float, attributes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "trace_id": run.run_id,
        "span_id": span_id,
        "start_time": int(began * _NANOSECONDS),
        "end_time": int(ended * _NANOSECONDS),
        "attributes": attributes,
        "logs": [],
    }


def _attributes(call: RecordedCall) -> dict[str, Any]:
    fields = call.as_json()
    texts = {
        "gcp.vertex.agent.llm_request": fields.get("request"),
        "gcp.vertex.agent.llm_response": fields.get("response"),
    }
    found = {name: json.dumps(value, ensure_ascii=False) for name, value in texts.items() if value is not None}
    if call.events:
        found |= {"gen_ai.operation.name": "generate_content", "gcp.vertex.agent.event_id": call.events[-1]}
    return {**found, "gen_ai.agent.name": call.agent}
