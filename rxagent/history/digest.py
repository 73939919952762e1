"""SessionDigest: what the flow derives from a log, kept from run to run: a turn costs what is new, not what is old."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple, final

from rxagent.events import Event, ToolConfirmation
from rxagent.events.pairing import LoggedCall, Pairing
from rxagent.sessions import SessionKey

from .contents import History

__all__ = ["Decided", "SessionDigest", "give_back_digest", "take_digest"]

_MOST: Final = 64  # sessions; a digest is about as large as the log that it was made of


class Decided(NamedTuple):
    """A call that the user has decided about."""

    call: LoggedCall
    confirmation: ToolConfirmation


@final
class SessionDigest:
    """Pairs, taken call ids, and each agent's history of one session, as far as the log has been followed.

    Threads: one run at a time has it; the run's branches may use it side by side, each its own history.
    """

    __slots__ = (
        "_histories",
        "_invocations",
        "_last_id",
        "_lock",
        "_open",
        "_pairing",
        "_pauses",
        "_questions",
        "_read",
        "_seen",
        "call_ids",
    )

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen = 0
        self._read = 0  # calls
        self._last_id: str | None = None
        self._pairing = Pairing()
        self._open: list[LoggedCall] = []  # these three shrink again: looking at them costs what is owed, not the log
        self._pauses: list[LoggedCall] = []
        self._questions: list[LoggedCall] = []
        self._invocations: dict[str, list[int]] = {}
        self._histories: dict[tuple[str, str | None], History] = {}
        self.call_ids: set[str] = set()
        """The ids of all calls in the log."""

    def fits(self, events: Sequence[Event]) -> bool:
        """True when this log begins with what was followed: ids of events are unique, so the newest one tells."""
        return self._seen <= len(events) and (not self._seen or events[self._seen - 1].id == self._last_id)

    def follow(self, events: Sequence[Event]) -> None:
        """Take in what was appended."""
        with self._lock:
            self._follow(events)

    def _follow(self, events: Sequence[Event]) -> None:
        if self._seen == len(events):
            return
        for position in range(self._seen, len(events)):
            event = events[position]
            self.call_ids.update(call.id for call in event.function_calls if call.id)
            self._pairing.read((event,))
            self._last_id = event.id
            if event.invocation_id:
                self._invocations.setdefault(event.invocation_id, []).append(position)
        self._seen = len(events)
        fresh = self._pairing.calls[self._read :]
        self._read = len(self._pairing.calls)
        self._open += fresh
        self._pauses += [call for call in fresh if call.long_running]
        self._questions += [call for call in fresh if call.is_question]

    def history(self, agent_name: str, branch: str | None, events: Sequence[Event]) -> History:
        """The log as this agent sees it, up to its end."""
        with self._lock:
            history = self._histories.get((agent_name, branch))
            if history is None:
                history = self._histories[agent_name, branch] = History(agent_name, branch)
        history.follow(events)
        return history

    def events_of(self, invocation_id: str, events: Sequence[Event]) -> list[Event]:
        """The events of one invocation, in log order."""
        with self._lock:
            self._follow(events)
            return [events[position] for position in self._invocations.get(invocation_id, ())]

    def start_of(self, invocation_id: str, events: Sequence[Event]) -> int | None:
        """The position of an invocation's first event; None when the log does not know it."""
        with self._lock:
            self._follow(events)
            return next(iter(self._invocations.get(invocation_id, ())), None)

    # -- what is owed --------------------------------------------------------------------------------------------------

    def open_calls(self, events: Sequence[Event]) -> list[LoggedCall]:
        """The calls of the log that have no response, in log order."""
        with self._lock:
            self._follow(events)
            self._open = [call for call in self._open if call.is_open]
            return list(self._open)

    def pauses(self, events: Sequence[Event]) -> list[LoggedCall]:
        """The designed pauses that are still owed an answer, in log order."""
        with self._lock:
            self._follow(events)
            self._pauses = [call for call in self._pauses if not call.is_answered]
            return list(self._pauses)

    def decided(self, events: Sequence[Event]) -> list[Decided]:
        """The calls that the user has decided about and that have not run since, in log order."""
        with self._lock:
            self._follow(events)
            if not self._questions:
                return []
            kept, found = [], []
            for question in self._questions:
                decision, call = question.decision, self._pairing.original_of(question)
                if call is None or (decision and call.replies and call.replies[-1].number > decision.number):
                    continue
                kept.append(question)
                if decision is not None:
                    found.append(Decided(call, decision.confirmation))
            self._questions = kept
            return sorted(found, key=lambda one: one.call.number)

    def asked_about(self, events: Sequence[Event]) -> list[LoggedCall]:
        """The calls that an open question is about."""
        with self._lock:
            self._follow(events)
            asked = (self._pairing.original_of(question) for question in self._questions if not question.is_answered)
            return [call for call in asked if call is not None]

    def answered_by(self, events: Sequence[Event], message: Event) -> list[LoggedCall | None]:
        """For each response of a message that comes next, the call that it answers."""
        with self._lock:
            self._follow(events)
            return self._pairing.answered_by(message)

    def calls_to_seal(self, events: Sequence[Event], message: Event, resumed: str | None = None) -> list[LoggedCall]:
        """The calls that are owed a response from a run that is over, and that the message does not answer.

        Designed pauses are none of them, nor are the calls of an invocation that is resumed: it makes up for them.
        """
        owed = [call for call in self.open_calls(events) if not call.long_running]
        owed += [one.call for one in self.decided(events) if one.call not in owed]
        if resumed is not None:
            owed = [call for call in owed if call.invocation_id != resumed]
        answered = self.answered_by(events, message) if owed and message.function_responses else ()
        return sorted((call for call in owed if call not in answered), key=lambda call: call.number)


_lock = threading.Lock()
_digests: OrderedDict[SessionKey, SessionDigest] = OrderedDict()


def take_digest(key: SessionKey, events: Sequence[Event]) -> SessionDigest:
    """The digest of this log for one run, or a new one. It is the run's alone until it is given back."""
    with _lock:
        digest = _digests.pop(key, None)
    return digest if digest is not None and digest.fits(events) else SessionDigest()


def give_back_digest(key: SessionKey, digest: SessionDigest) -> None:
    """Keep the digest of a run that has ended for the next one of the session."""
    with _lock:
        _digests[key] = digest
        while len(_digests) > _MOST:
            _digests.popitem(last=False)
