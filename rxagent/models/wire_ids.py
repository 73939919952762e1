"""Call ids on the wire: one per call, unique in a request, the same for a call and its response."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from typing import Final, Literal, TypeAlias, final

from rxagent.events import FunctionCall, FunctionResponse

__all__ = ["CallIds", "IdShape"]

IdShape: TypeAlias = Literal["any", "nine", "forty"]

_SHAPES: Final[dict[IdShape, re.Pattern[str]]] = {
    "any": re.compile(r"(?s).*"),
    "nine": re.compile(r"[A-Za-z0-9]{9}"),  # Mistral's
    "forty": re.compile(r"(?s).{1,40}"),  # OpenAI's
}
_LENGTHS: Final[dict[IdShape, int]] = {"any": 40, "nine": 9, "forty": 40}


@final
class CallIds:
    """Pairs the calls and responses of one request, by occurrence.

    An id that is there and new goes out as it is. A missing one becomes `call_1`, `call_2` ... in the order of the
    calls, a repeated one gets a suffix; the response takes the id of the first call of its kind that has none yet.
    The same contents thus always give the same ids, and a server's prompt cache stays good.

    shape: what the server takes as an id; one of another shape goes out as its digest.
    """

    __slots__ = ("_count", "_shape", "_unanswered", "_used")

    def __init__(self, shape: IdShape = "any") -> None:
        self._shape: IdShape = shape
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
        return self._shaped(response.id or f"call_{response.name or ''}")  # its call is not in this request

    def _unused(self, wanted: str) -> str:
        wire_id, number = self._shaped(wanted), 1
        while wire_id in self._used:
            number += 1
            wire_id = self._shaped(f"{wanted}_{number}")
        self._used.add(wire_id)
        return wire_id

    def _shaped(self, wanted: str) -> str:
        if _SHAPES[self._shape].fullmatch(wanted):
            return wanted
        return hashlib.sha256(wanted.encode("utf-8", "replace")).hexdigest()[: _LENGTHS[self._shape]]


def _key(entry: FunctionCall | FunctionResponse) -> str:
    return f"id {entry.id}" if entry.id else f"name {entry.name}"
