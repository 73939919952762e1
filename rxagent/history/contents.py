"""Contents: what of a session's log an agent's model is sent (ADK Java, Contents)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, final

from rxagent.events import REQUEST_CONFIRMATION, Content, Event, Part
from rxagent.events.pairing import LoggedCall, Pairing
from rxagent.models import Contents

from .compaction_range import Span, still_needed
from .other_agents import as_context, call_as_context, part_as_context, response_as_context
from .rearrange import Entry, arranged, current_turn, has_gap

__all__ = ["History", "IncludeContents", "build_contents"]

IncludeContents = Literal["default", "none"]


def build_contents(
    events: Iterable[Event], *, agent_name: str, branch: str | None = None, include: IncludeContents = "default"
) -> Contents:
    """The contents of an agent's request, from the session's events in log order.

    branch: the invocation's; events of other branches are not seen, those of its ancestors are. include: "none" sends
    the current turn alone.
    """
    history = History(agent_name, branch)
    history.extend(events)
    return history.contents(include)


@final
class History:
    """A log as one agent sees it. It grows with the log: an event is looked at once, however many requests follow.

    The rules, in this order:

    - seen are events with something to say: not those whose parts are all empty or thoughts, and not those of other
      branches (`a.b` sees `a` and `a.b`, not `a.c` nor `a.bc`); questions for confirmation and their answers never;
    - own words (also those of the author "model") and the user's are sent as they are; a missing role is filled in;
    - what another agent did is told as context; so is the user's answer to a call that this agent does not see;
    - a response is sent directly behind its call, a later one replaces an earlier one; an orphan is not sent;
    - a designed pause without a response is sent with "still pending"; any other open call, of which there is none when
      a run has sealed the log before, with "not known", and `newly_repaired` tells of it;
    - a summary stands in the place of the events in its span, which are those before it in the log; a later summary
      that covers it takes its place. Calls that are still needed are never hidden (`still_needed`).

    Not thread-safe: one run at a time.
    """

    __slots__ = (
        "_agent",
        "_arranged",
        "_arranged_entries",
        "_branch",
        "_called",
        "_entries",
        "_open",
        "_pairing",
        "_seen_branches",
        "_sources",
        "_spans",
        "_told",
    )

    def __init__(self, agent_name: str, branch: str | None = None) -> None:
        self._agent = agent_name
        self._branch = branch or ""
        self._entries: list[Entry] = []
        self._sources: list[tuple[int, Span]] = []  # by the entries' indices: the event's position and time
        self._spans: dict[Entry, Span] = {}  # the entries that are summaries
        self._pairing = Pairing()
        self._called: dict[LoggedCall, Entry] = {}  # the calls that this agent sees as its own
        self._open: dict[LoggedCall, None] = {}  # those without a response that are no designed pauses
        self._told: dict[LoggedCall, None] = {}
        self._seen_branches: dict[str | None, bool] = {None: True, "": True}
        self._arranged: list[Content] = []  # what the first entries become, as long as nothing of them changes
        self._arranged_entries = 0

    def extend(self, events: Iterable[Event]) -> None:
        """Go on with the events that follow in the log."""
        for event in events:
            content = event.content
            if content is not None and content.parts and not event.partial:
                self._add(event, content, content.parts)
            elif event.actions.compaction is not None and (summary := Span.of(event.actions.compaction)) is not None:
                self._add_summary(*summary)
            self._pairing.position += 1

    def follow(self, events: Sequence[Event]) -> None:
        """Go on to the end of this log, which begins with what was read."""
        self.extend(events[self._pairing.position :])

    def contents(self, include: IncludeContents = "default") -> Contents:
        """What is sent now. It costs what has come since the last time, not what was there."""
        if include != "default":
            return Contents(arranged(current_turn(self._entries)))
        if has_gap(self._entries):
            return Contents(arranged(self._entries))
        self._arranged.extend(arranged(self._entries[self._arranged_entries :]))
        self._arranged_entries = len(self._entries)
        return Contents.of(self._arranged, len(self._arranged))

    def newly_repaired(self) -> list[LoggedCall]:
        """The calls for which `contents` makes up a response, and that this has not told before."""
        fresh = [call for call in self._open if call not in self._told]
        self._told.update(dict.fromkeys(fresh))
        return fresh

    def _arrange_anew(self) -> None:
        """Something that was arranged has changed: a new list, as requests hold the old one."""
        self._arranged = []
        self._arranged_entries = 0

    # -- one event ----------------------------------------------------------------------------------------------------

    def _add(self, event: Event, content: Content, parts: tuple[Part, ...]) -> None:
        author = event.author
        by_other = bool(author) and author not in (self._agent, "user", "model")
        opens_turn = by_other or author == "user"
        for part in parts:
            if part.function_call is not None or part.function_response is not None:
                self._add_with_calls(event, content, parts, by_other, opens_turn)
                return
        if not self._is_seen(event.branch):
            return
        if by_other:
            self._add_context(event, [told for part in parts if (told := part_as_context(author, part)) is not None])
        else:
            self._add_words(event, content, parts, opens_turn)

    def _add_with_calls(
        self, event: Event, content: Content, parts: tuple[Part, ...], by_other: bool, opens_turn: bool
    ) -> None:
        """An event with calls or responses: they are paired also when the event itself is not seen."""
        told: list[Part] = []
        kept: list[Part] = []
        calls: list[LoggedCall] = []
        answered: list[LoggedCall] = []
        for part in parts:
            if part.function_call is not None:
                call = self._pairing.add_call(event, part, part.function_call)
                if call.name == REQUEST_CONFIRMATION:
                    continue
                if by_other:
                    told.append(call_as_context(event.author, part.function_call))
                else:
                    kept.append(part)
                    calls.append(call)
            elif part.function_response is not None:
                response = part.function_response
                answers = self._pairing.add_response(event, part, response)
                if answers is None or answers.name == REQUEST_CONFIRMATION:
                    continue
                if answers in self._called:
                    answered.append(answers)
                else:
                    told.append(response_as_context(answers.author, response))
            elif not by_other:
                kept.append(part)
            elif (words := part_as_context(event.author, part)) is not None:
                told.append(words)
        if answered:
            self._add_answers(event, answered, opens_turn)
        if not self._is_seen(event.branch):
            return
        if told:
            self._add_context(event, told, keeps=event.author == "user")
        if kept:
            self._add_words(event, content, parts if len(kept) == len(parts) else tuple(kept), opens_turn, calls)

    def _add_answers(self, event: Event, answered: Sequence[LoggedCall], opens_turn: bool) -> None:
        called = [self._called[call] for call in answered]
        arranged_to = self._entries[self._arranged_entries - 1].index if self._arranged_entries else -1
        if any(entry.index <= arranged_to for entry in called):
            self._arrange_anew()
        for call, entry in zip(answered, called, strict=True):
            self._open.pop(call, None)
            entry.answered_by(event)
        self._entries.append(Entry(self._place(event), None, opens_turn, answers=called))

    def _add_context(self, event: Event, told: Sequence[Part], keeps: bool = False) -> None:
        if told:
            self._entries.append(Entry(self._place(event), as_context(told), True, keeps=keeps))

    def _add_words(
        self,
        event: Event,
        content: Content,
        parts: tuple[Part, ...],
        opens_turn: bool,
        calls: Sequence[LoggedCall] = (),
    ) -> None:
        if not calls and not any(map(_is_visible, parts)):
            return
        if parts is not content.parts or not content.role:
            role = content.role or ("user" if event.author == "user" else "model")
            content = Content(role=role, parts=parts)
        entry = Entry(self._place(event), content, opens_turn, calls=calls)
        self._entries.append(entry)
        for call in calls:
            self._called[call] = entry
            if not call.long_running:
                self._open[call] = None

    def _place(self, event: Event) -> int:
        """The index of the entry that is made of this event: the number of entries made before."""
        self._sources.append((self._pairing.position, Span(event.timestamp, event.timestamp)))
        return len(self._sources) - 1

    # -- summaries -----------------------------------------------------------------------------------------------------

    def _add_summary(self, span: Span, content: Content) -> None:
        """Put the summary in the place of the first entry that it stands for; it opens a turn when one of them did.

        ::

            q1  a1  call L  q2  a2  (q1-a2)          (q1-a2)  call L
        """
        self._arrange_anew()
        needed = still_needed(self._pairing.calls, span)
        gone = {entry for entry in self._entries if self._is_covered(entry, span, needed)}
        gone |= {entry for entry in self._entries if entry.answers and gone.issuperset(entry.answers)}
        first = next((at for at, entry in enumerate(self._entries) if entry in gone), None)
        if first is None:  # nothing of it is seen here, or earlier summaries hide it: it goes before what came later
            first = next((at for at, entry in enumerate(self._entries) if self._starts(entry) > span.end), None)
        self._sources.append((self._pairing.position, span))
        at = len(self._entries) if first is None else first
        index = len(self._sources) - 1 if first is None else self._entries[first].index
        entry = Entry(index, content, any(entry.opens_turn for entry in gone))
        self._spans[entry] = span
        self._entries.insert(at, entry)
        self._entries = [entry for entry in self._entries if entry not in gone]
        self._called = {call: entry for call, entry in self._called.items() if entry not in gone}
        self._open = {call: None for call in self._open if call in self._called}

    def _is_covered(self, entry: Entry, span: Span, needed: set[int]) -> bool:
        if entry.content is None:
            return False
        position, source = self._sources[entry.index]
        return span.covers(self._spans.get(entry, source)) and (entry in self._spans or position not in needed)

    def _starts(self, entry: Entry) -> int:
        return self._spans.get(entry, self._sources[entry.index][1]).start

    def _is_seen(self, branch: str | None) -> bool:
        """True for events without branch, and for those of the invocation's branch and its ancestors."""
        seen = self._seen_branches.get(branch)
        if seen is None:
            mine = self._branch
            seen = not mine or mine == branch or mine.startswith(f"{branch}.")
            self._seen_branches[branch] = seen
        return seen


def _is_visible(part: Part) -> bool:
    """True for a part that a model can make something of (ADK Java: a thought alone is nothing)."""
    if part.text is not None and not part.thought:
        return True
    if part.thought_signature or part.function_call is not None:
        return True
    if part.thought:
        return False
    return (
        part.inline_data is not None
        or part.file_data is not None
        or part.executable_code is not None
        or part.code_execution_result is not None
        or bool(part.model_extra)
    )
