"""Question: what a paused run waits for, and the messages that answer it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, final

from rxagent.errors import UsageError
from rxagent.events import Content, Event, FunctionResponse, Part
from rxagent.events.confirmation import asked_about
from rxagent.events.pairing import LoggedCall, Pairing

__all__ = ["Question", "pending_questions"]


@final
class Question:
    """An open question of a session: a call that is to be confirmed, or a long-running one that owes its answer.

    kind: "confirmation" or "answer". call_id: the id that the answer carries. name, args: the tool that is asked about,
    and with what. hint: the question in words, empty when there are none. payload: what a confirmation offers for
    changing. since: when it was asked, in ms since 1970. author, branch: the agent that asks. invocation_id: the run
    that waits.

    `approve`, `reject` and `answer` give the message for `runner.run(user_id, session_id, ...)`; they send nothing.
    """

    __slots__ = (
        "_response_name",
        "args",
        "author",
        "branch",
        "call_id",
        "hint",
        "invocation_id",
        "kind",
        "name",
        "payload",
        "since",
    )

    def __init__(self, call: LoggedCall) -> None:
        asked = asked_about(call.function_call)
        original = call.function_call if asked is None else asked[0]
        self.kind: Literal["confirmation", "answer"] = "answer" if asked is None else "confirmation"
        self.call_id = call.call_id or ""
        self.name = original.name or ""
        self.args: dict[str, Any] = dict(original.args or {})
        self.hint = "" if asked is None else asked[1].hint
        self.payload: Any = None if asked is None else asked[1].payload
        self.since = call.event.timestamp
        self.author = call.author
        self.branch = call.branch
        self.invocation_id = call.invocation_id
        self._response_name = call.name

    def approve(self, payload: Any = None) -> Content:
        """The message that lets the call run. payload: what the tool is given with it; None leaves it away.

        Raises UsageError for a long-running call, which is answered.
        """
        return self._decide(True, payload)

    def reject(self, payload: Any = None) -> Content:
        """The message that refuses the call. Raises UsageError for a long-running call, which is answered."""
        return self._decide(False, payload)

    def answer(self, response: Mapping[str, Any]) -> Content:
        """The message with this response, as it is."""
        part = Part(
            function_response=FunctionResponse(id=self.call_id, name=self._response_name, response=dict(response))
        )
        return Content(role="user", parts=(part,))

    def _decide(self, confirmed: bool, payload: Any) -> Content:
        if self.kind != "confirmation":
            raise UsageError(f"the call {self.call_id!r} of {self.name!r} waits for its result: use answer({{...}})")
        return self.answer({"confirmed": confirmed, **({} if payload is None else {"payload": payload})})

    def __repr__(self) -> str:
        return f"<Question {self.call_id} ({self.kind}): {self.name}({', '.join(self.args)})>"


def pending_questions(events: Iterable[Event]) -> list[Question]:
    """The open questions of a log, in its order. A long-running call that is to be confirmed first is one question.

    A call waits no longer when its agent has marked its end since, because a resume without an answer has closed it, or
    a parallel agent above it has, because a sibling has escalated: nobody would take the answer.
    """
    pairing, ends = Pairing(), dict[tuple[str | None, str | None], int]()
    for event in events:
        if event.actions.end_of_agent:
            ends[event.invocation_id, event.author] = pairing.position
        pairing.read((event,))
    owed = [call for call in pairing.calls if call.long_running and not call.is_answered]
    asked = [pairing.original_of(call) for call in owed if call.is_question]
    closed = [
        call
        for call in owed
        if any(ends.get((call.invocation_id, agent), -1) > call.position for agent in _whose_end_closes(call))
    ]
    return [Question(call) for call in owed if call not in asked and call not in closed]


def _whose_end_closes(call: LoggedCall) -> list[str | None]:
    """The agent that called, and those on whose branch it stands."""
    return [call.author, *(call.branch or "").split(".")]
