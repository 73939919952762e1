"""Pairing: which response answers which call. By occurrence, because servers and old logs repeat ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, final

from .actions import ToolConfirmation
from .confirmation import REQUEST_CONFIRMATION, asked_about, read_decision
from .content import FunctionCall, FunctionResponse, Part
from .event import Event

__all__ = ["Decision", "LoggedCall", "Pairing", "Reply", "is_error_result", "open_calls", "pending_calls"]

_USER = "user"


class Reply(NamedTuple):
    """A response that was paired with a call: its number among all responses, the part, and the event it came in."""

    number: int
    part: Part
    event: Event


class Decision(NamedTuple):
    """What the user has decided about a question: the first answer that can be read, and its reply's number."""

    number: int
    confirmation: ToolConfirmation


@final
class LoggedCall:
    """One occurrence of a function call in a log. Two calls with the same id are two of these.

    event, position: where it stands (index among the events read); number: among the calls. author, branch,
    invocation_id: the event's. part: the part that holds the call; call_id, name: the call's. long_running: listed in
    its event's `long_running_tool_ids`, that is a designed pause. replies: its responses so far, in order. before: the
    call before it with the same id.
    """

    __slots__ = (
        "author",
        "before",
        "branch",
        "call_id",
        "event",
        "long_running",
        "name",
        "number",
        "part",
        "position",
        "replies",
    )

    def __init__(
        self, event: Event, position: int, number: int, part: Part, call: FunctionCall, before: LoggedCall | None
    ) -> None:
        self.event = event
        self.number = number
        self.author = event.author
        self.branch = event.branch
        self.position = position
        self.part = part
        self.call_id = call.id
        self.name = call.name
        pauses = event.long_running_tool_ids
        self.long_running = pauses is not None and call.id in pauses
        self.replies: tuple[Reply, ...] = ()
        self.before = before

    @property
    def function_call(self) -> FunctionCall:
        """The call itself."""
        call = self.part.function_call
        assert call is not None  # a LoggedCall is made of one
        return call

    @property
    def invocation_id(self) -> str | None:
        """The run that made the call."""
        return self.event.invocation_id

    @property
    def claim(self) -> str:
        """What names this occurrence of the call in its session, whatever its id."""
        calls = [part for part in self.event.parts if part.function_call is not None]
        place = next(place for place, part in enumerate(calls) if part is self.part)
        return f"{self.event.id}/{place}"

    @property
    def is_open(self) -> bool:
        """True while it has no response at all."""
        return not self.replies

    @property
    def is_answered(self) -> bool:
        """True when nothing more is owed: an interim value of a long-running tool is no answer.

        A long-running call is answered by a response authored by the user, or by the tool's own error result; a
        question by a decision.
        """
        if not self.long_running or not self.replies:
            return bool(self.replies)
        if self.is_question:
            return self.decision is not None
        return self._has_failed or any(reply.event.author == _USER for reply in self.replies)

    @property
    def _has_failed(self) -> bool:
        """True when its tool's newest result is an error; that it asks first is none."""
        newest = self.replies[-1]
        asks = self.call_id in newest.event.actions.requested_tool_confirmations
        response = newest.part.function_response
        return not asks and response is not None and is_error_result(response)

    @property
    def is_question(self) -> bool:
        """True for a question to the user about another call."""
        return self.long_running and self.name == REQUEST_CONFIRMATION

    @property
    def decision(self) -> Decision | None:
        """What the user has decided about this question; a later answer changes nothing."""
        for reply in self.replies:
            response = reply.part.function_response
            if reply.event.author == _USER and response is not None:
                confirmation = read_decision(response)
                if confirmation is not None:
                    return Decision(reply.number, confirmation)
        return None

    def __repr__(self) -> str:
        state = "answered" if self.is_answered else "open" if self.is_open else "pending"
        return f"<LoggedCall {self.name} {self.call_id!r} of {self.author}: {state}>"


@final
class Pairing:
    """Reads a log forwards, event by event, and pairs each response with the call it answers.

    Among the calls with the response's id it takes, by preference: one that this author and branch made (a user may
    answer any), one with the response's tool name, one that is still owed an answer; then the latest event, and in it
    the earliest call. So ids that are used again, in a later turn, in another branch or twice in one event, go right.
    A call without id is answered by a response without id and with its name.

    ::

        log       X(1)  x=1  X(2)  x=2            two calls with the id X
        by id     X(1)--x=2  X(2)--?              the second result is lost
        here      X(1)--x=1  X(2)--x=2
    """

    __slots__ = ("_latest", "_replies", "calls", "position")

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.calls: list[LoggedCall] = []
        self.position = 0
        self._latest: dict[str, LoggedCall] = {}  # id -> the newest call, from which the older ones are reached
        self._replies = 0
        self.read(events)

    def read(self, events: Iterable[Event]) -> None:
        """Go on with these events."""
        for event in events:
            content = event.content
            if content is not None and content.parts:
                for part in content.parts:
                    if part.function_call is not None:
                        self.add_call(event, part, part.function_call)
                    elif part.function_response is not None:
                        self.add_response(event, part, part.function_response)
            self.position += 1

    def add_call(self, event: Event, part: Part, call: FunctionCall) -> LoggedCall:
        """Note a call of the event at the current position."""
        key = call.id or ""
        logged = LoggedCall(event, self.position, len(self.calls), part, call, self._latest.get(key))
        self._latest[key] = logged
        self.calls.append(logged)
        return logged

    def add_response(self, event: Event, part: Part, response: FunctionResponse) -> LoggedCall | None:
        """Note a response; returns the call it answers, or None for an orphan."""
        call = self._find(event, response)
        if call is not None:
            call.replies += (Reply(self._replies, part, event),)
            self._replies += 1
        return call

    def answered_by(self, event: Event) -> list[LoggedCall | None]:
        """For each response of an event that is not read yet, the call that it would answer."""
        found: list[LoggedCall | None] = []
        for response in event.function_responses:
            call = self._find(event, response, [one for one in found if one is not None])
            found.append(call or self._find(event, response))
        return found

    def original_of(self, question: LoggedCall) -> LoggedCall | None:
        """The call that a question is about; None unless the same agent made it, with that name and these arguments."""
        asked = asked_about(question.function_call)
        if asked is None:
            return None
        original, _ = asked
        call = self._latest.get(original.id or "")
        while call is not None:
            same_agent = call.author == question.author and call.branch == question.branch
            if same_agent and call.name == original.name and (call.function_call.args or {}) == (original.args or {}):
                return call
            call = call.before
        return None

    def _find(self, event: Event, response: FunctionResponse, without: Sequence[LoggedCall] = ()) -> LoggedCall | None:
        best: LoggedCall | None = None
        best_rank = 0
        call = self._latest.get(response.id or "")
        while call is not None:
            if best_rank == _PERFECT and best is not None and call.position != best.position:
                break
            rank = 0 if call in without else _rank(call, event, response)
            same_event = best is not None and call.position == best.position
            if rank > best_rank or (rank == best_rank and same_event):  # in one event the earliest
                best, best_rank = call, rank
            call = call.before
        return best if best_rank else None


_PERFECT = 8


def _rank(call: LoggedCall, event: Event, response: FunctionResponse) -> int:
    """How well the response fits the call: 0 for not at all, 8 for in every respect."""
    same_name = not response.name or response.name == call.name
    if not response.id and not same_name:
        return 0
    rank = 3 if same_name else 1
    if event.author == _USER:
        return rank + (4 if call.is_answered else 5)
    if event.author == call.author and event.branch == call.branch:
        rank += 4
    return rank if call.replies else rank + 1


def open_calls(events: Iterable[Event]) -> list[LoggedCall]:
    """The calls that have no response, in log order; designed pauses among them (`long_running`)."""
    return _calls(events, lambda call: call.is_open)


def pending_calls(events: Iterable[Event]) -> list[LoggedCall]:
    """The designed pauses that are still owed an answer, in log order."""
    return _calls(events, lambda call: call.long_running and not call.is_answered)


def is_error_result(response: FunctionResponse) -> bool:
    """True for what a failed tool leaves: `{"error": ...}`, or `{"status": "error", ...}`."""
    result = response.response or {}
    return "error" in result or result.get("status") == "error"


def _calls(events: Iterable[Event], wanted: Callable[[LoggedCall], bool]) -> list[LoggedCall]:
    return [call for call in Pairing(events).calls if wanted(call)]
