"""Ids of calls: unique in their session, from the moment a run receives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from typing import TypeAlias, final

from rxagent.events import Content, Part, new_event_id

__all__ = ["CallIds"]

_Mark: TypeAlias = tuple[str | None, int]
"""How a call is known again in the next response: its given id and how often that has come before; or its place."""


@final
class CallIds:
    """Gives the calls of one answer ids: a fresh one where it is empty, or taken in the session.

    Servers count `call_0` anew in each answer. taken: the ids of the calls in the log. A call that is assembled in
    partial responses keeps one id up to the final response that ends it, also when the server names it late. The fresh
    ids have ADK's prefix, `adk-`.

        given   partial ""  final ""   final ""        partial "x"  final "x"     "x" again
        id      adk-1       adk-1      adk-2           x            x             adk-3
    """

    __slots__ = ("_assembled", "_ended", "_taken")

    def __init__(self, taken: Set[str]) -> None:
        self._taken = taken
        self._ended: list[str] = []  # ids of this answer's calls that are whole
        self._assembled: dict[_Mark, str] = {}

    def assigned(self, content: Content, *, partial: bool = False) -> Content:
        """The content with good ids in its calls."""
        parts = content.parts or ()
        for part in parts:
            if part.function_call is not None:
                break
        else:
            return content
        here: list[str] = []
        given: Counter[str | None] = Counter()
        parts = tuple(self._part(part, here, given) for part in parts)
        if not partial:
            self._ended += here
            self._assembled.clear()
        return content.model_copy(update={"parts": parts})

    def _part(self, part: Part, here: list[str], given: Counter[str | None]) -> Part:
        call = part.function_call
        if call is None:
            return part
        name = call.id or None
        id = self._id(name, given[name], len(here), here)
        given[name] += 1
        here.append(id)
        if id == call.id:
            return part
        return part.model_copy(update={"function_call": call.model_copy(update={"id": id})})

    def _id(self, given: str | None, repeated: int, place: int, here: list[str]) -> str:
        mark: _Mark = (given, repeated) if given else (None, place)
        id = self._assembled.get(mark) or self._assembled.pop((None, place), None)
        if id is None or id in here:
            good = given and not (given in self._taken or given in self._ended or given in here)
            id = given if given and good else _fresh()
        self._assembled[mark] = id
        return id


def _fresh() -> str:
    return f"adk-{new_event_id()}"
