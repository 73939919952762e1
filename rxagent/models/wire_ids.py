"""Call ids on the wire: one per call, unique in a request, the same for a call and its response."""

from __future__ import annotations

from collections import deque
from typing import final

from rxagent.events import FunctionCall, FunctionResponse

__all__ = ["CallIds"]


@final
class CallIds:
    """Pairs the calls and responses of one request, by occurrence.

    An id that is there and new goes out as it is. A missing one becomes `call_1`, `call_2` ... in the order of the
    calls, a repeated one gets a suffix; the response takes the id of the first call of its kind that has none yet.
    The same contents thus always give the same ids, and a server's prompt cache stays good.
    """

    __slots__ = ("_count", "_unanswered", "_used")

    def __init__(self) -> None:
        self._count = 0
        self._used: set[str] = set()
        self._unanswered: dict[str, deque[str]] = {}

    def of_call(self, call: FunctionCall) -> str:
        """The id under which this call, the next one, goes out."""
        self._count += 1
        wire_id = self._unused(call.id or f"call_{self._count}")
        self._unanswered.setdefault(_key(call), deque()).append(wire_id)
        return wire_id

    def of_response(self, response: FunctionResponse) -> str:
        """The id of the call that this response, the next one, answers."""
        waiting = self._unanswered.get(_key(response))
        if waiting:
            return waiting.popleft()
        return response.id or f"call_{response.name or ''}"  # its call is not in this request

    def _unused(self, wanted: str) -> str:
        wire_id, number = wanted, 1
        while wire_id in self._used:
            number += 1
            wire_id = f"{wanted}_{number}"
        self._used.add(wire_id)
        return wire_id


def _key(entry: FunctionCall | FunctionResponse) -> str:
    return f"id {entry.id}" if entry.id else f"name {entry.name}"
