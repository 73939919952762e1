"""SessionDigest: what the flow derives from a log, kept from run to run: a turn costs what is new, not what is old."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, final

from rxagent.events import Event
from rxagent.events.pairing import LoggedCall, Pairing
from rxagent.sessions import SessionKey

from .contents import History
from .sealing import calls_to_seal

__all__ = ["SessionDigest", "give_back_digest", "take_digest"]

_MOST: Final = 64  # sessions; a digest is about as large as the log that it was made of


@final
class SessionDigest:
    """Pairs, taken call ids, and each agent's history of one session, as far as the log has been followed.

    Threads: one run at a time has it; the run's branches may use it side by side, each its own history.
    """

    __slots__ = ("_histories", "_last_id", "_lock", "_pairing", "_seen", "call_ids")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen = 0
        self._last_id: str | None = None
        self._pairing = Pairing()
        self._histories: dict[tuple[str, str | None], History] = {}
        self.call_ids: set[str] = set()
        """The ids of all calls in the log."""

    def fits(self, events: Sequence[Event]) -> bool:
        """True when this log begins with what was followed: ids of events are unique, so the newest one tells."""
        return self._seen <= len(events) and (not self._seen or events[self._seen - 1].id == self._last_id)

    def follow(self, events: Sequence[Event]) -> None:
        """Take in what was appended."""
        with self._lock:
            for event in events[self._seen :]:
                self.call_ids.update(call.id for call in event.function_calls if call.id)
                self._pairing.read((event,))
                self._last_id = event.id
            self._seen = len(events)

    def history(self, agent_name: str, branch: str | None, events: Sequence[Event]) -> History:
        """The log as this agent sees it, up to its end."""
        with self._lock:
            history = self._histories.setdefault((agent_name, branch), History(agent_name, branch))
        history.follow(events)
        return history

    def open_calls(self, events: Sequence[Event]) -> list[LoggedCall]:
        """The calls of the log that have no response, in log order."""
        self.follow(events)
        return [call for call in self._pairing.calls if call.is_open]

    def calls_to_seal(self, events: Sequence[Event], message: Event) -> list[LoggedCall]:
        """The open calls that are no designed pause and that the message, which comes next, does not answer."""
        self.follow(events)
        calls = [call for call in self._pairing.calls if call.is_open and not call.long_running]
        if calls and message.function_responses:
            calls = calls_to_seal([*events, message])
        return calls


_lock = threading.Lock()
_digests: OrderedDict[SessionKey, SessionDigest] = OrderedDict()


def take_digest(key: SessionKey, events: Sequence[Event]) -> SessionDigest:
    """The digest of this log for one run, or a new one. It is the run's alone until it is given back."""
    with _lock:
        digest = _digests.pop(key, None)
    return digest if digest is not None and digest.fits(events) else SessionDigest()


def give_back_digest(key: SessionKey, digest: SessionDigest) -> None:
    """Keep the digest for the next run of the session."""
    with _lock:
        _digests[key] = digest
        while len(_digests) > _MOST:
            _digests.popitem(last=False)
