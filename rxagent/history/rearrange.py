"""Where each piece of a history stands in the request: responses behind their calls, and what a late one hides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from rxagent.events import Content, Event, FunctionResponse, Part
from rxagent.events.pairing import LoggedCall

from .sealing import seal_part

__all__ = ["STILL_PENDING", "Entry", "arranged", "current_turn", "has_gap"]

STILL_PENDING: Final = {
    "status": "pending",
    "message": "This call has no result yet: it waits for an answer from outside. Do not call it again; go on without "
    "it, or say that it is pending.",
}
"""What a request says for a designed pause that nobody has answered; it is never stored."""

_WHY: Final = "its response is not in the log"


@final
class Entry:
    """One piece of a history, as one agent sees it.

    content: what is sent at this place; None when only responses stood here, which are sent behind their calls.
    calls: the agent's own calls in the content. answers: the entries whose calls are answered here. opens_turn: said
    by the user or by another agent. keeps: tells another agent's answer that came from the user, and so is never left
    out.
    """

    __slots__ = ("_reply", "answers", "calls", "content", "index", "keeps", "opens_turn")

    def __init__(
        self,
        index: int,
        content: Content | None,
        opens_turn: bool,
        *,
        calls: Sequence[LoggedCall] = (),
        answers: Sequence[Entry] = (),
        keeps: bool = False,
    ) -> None:
        self.index = index
        self.content = content
        self.opens_turn = opens_turn
        self.calls = calls
        self.answers = answers
        self.keeps = keeps
        self._reply: Content | None = None

    def answered_by(self, event: Event) -> None:
        """A response to one of the entry's calls has come."""
        self._reply = None
        if event.author == "user":
            self.keeps = True

    def reply(self) -> Content | None:
        """What is sent behind the calls: the newest response of each, in the order in which the calls were answered,
        then "still pending" for open designed pauses, and for other open calls that nothing is known of them."""
        if self._reply is None:
            self._reply = self._merged()
        return self._reply

    def _merged(self) -> Content | None:
        answered = [call for call in self.calls if call.replies]
        answered.sort(key=_first_reply)
        parts = [_named(call, call.replies[-1].part) for call in answered]
        pending = [_pending(call) for call in self.calls if not call.replies]
        if answered and not pending:
            stored = answered[-1].replies[-1].event.content  # as a rule one event holds exactly these
            if stored is not None and stored.role == "user" and _same_parts(stored.parts or (), parts):
                return stored
        parts += pending
        return Content(role="user", parts=tuple(parts)) if parts else None


def arranged(entries: Sequence[Entry]) -> list[Content]:
    """The contents of these entries, each call followed by its responses.

    When the newest entry is a late response, what stands between it and its call is left out (ADK; traces f05, b23),
    but for the answers that the user gave meanwhile. From the next entry on it is there again (f06).

    ::

        call L  pending  text  text  L=2          call L  L=2
        call L  pending  text  L=2  text          call L  L=2  text  text
    """
    contents: list[Content] = []
    for entry in _without_the_gap(entries):
        if entry.content is not None:
            contents.append(entry.content)
            if entry.calls and (reply := entry.reply()) is not None:
                contents.append(reply)
    return contents


def current_turn(entries: Sequence[Entry]) -> Sequence[Entry]:
    """From the newest entry of the user or another agent on; and before them the calls that they answer."""
    start = len(entries)
    while start and not entries[start - 1].opens_turn:
        start -= 1
    turn = entries[max(start - 1, 0) :]
    first = turn[0].index if turn else 0
    earlier = {called.index: called for entry in turn for called in entry.answers if called.index < first}
    return [*(earlier[index] for index in sorted(earlier)), *turn]


def has_gap(entries: Sequence[Entry]) -> bool:
    """True when the newest entry is a response, and more than other responses stands between it and its call."""
    if not entries or not entries[-1].answers:
        return False
    called = max(entry.index for entry in entries[-1].answers)
    before = len(entries) - 2
    while before >= 0 and entries[before].index > called and entries[before].content is None:
        before -= 1  # other responses to the same call hide nothing
    return before >= 0 and entries[before].index > called


def _without_the_gap(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries without what stands between the newest one, if it is a late response, and its call."""
    if not has_gap(entries):
        return entries
    called = max(entry.index for entry in entries[-1].answers)
    last = len(entries) - 1
    return [entry for at, entry in enumerate(entries) if at == last or entry.index <= called or entry.keeps]


def _first_reply(call: LoggedCall) -> int:
    return call.replies[0].number


def _same_parts(stored: Sequence[Part], parts: Sequence[Part]) -> bool:
    return len(stored) == len(parts) and all(one is other for one, other in zip(stored, parts, strict=True))


def _named(call: LoggedCall, part: Part) -> Part:
    """The response under its call's name: a log that was written elsewhere may have it under another one."""
    response = part.function_response
    if response is None or response.name == call.name:
        return part
    return part.model_copy(update={"function_response": response.model_copy(update={"name": call.name})})


def _pending(call: LoggedCall) -> Part:
    if not call.long_running:
        return seal_part(call, _WHY)  # no run has sealed it; this is never stored
    return Part(function_response=FunctionResponse(id=call.call_id, name=call.name, response=dict(STILL_PENDING)))
