"""Ids of calls: unique in their session, from the moment a run receives them."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable
from typing import final

from rxagent.events import Content, Part

__all__ = ["CallIds"]


@final
class CallIds:
    """Gives the calls of one answer ids: a fresh one where it is empty, or taken in the session.

    Servers count `call_0` anew in each answer. taken: the ids of the calls in the log. A call that is assembled in
    partial responses keeps one id to the end of its answer. The fresh ids have ADK's prefix, `adk-`.
    """

    __slots__ = ("_answer", "_taken")

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._answer: dict[tuple[int, str | None], str] = {}

    def assigned(self, content: Content) -> Content:
        """The content with good ids in its calls."""
        parts = content.parts or ()
        if not any(part.function_call is not None for part in parts):
            return content
        return content.model_copy(update={"parts": tuple(self._parts(parts))})

    def _parts(self, parts: Iterable[Part]) -> Iterable[Part]:
        here: set[str] = set()
        place = 0
        for part in parts:
            call = part.function_call
            if call is None:
                yield part
                continue
            id = self._id(place, call.id, here)
            here.add(id)
            place += 1
            yield (
                part if id == call.id else part.model_copy(update={"function_call": call.model_copy(update={"id": id})})
            )

    def _id(self, place: int, given: str | None, here: set[str]) -> str:
        key = (place, given)
        known = self._answer.get(key)
        if known is not None and known not in here:
            return known
        fresh = given if given and given not in self._taken and given not in here else _fresh()
        self._answer[key] = fresh
        return fresh


def _fresh() -> str:
    return f"adk-{uuid.UUID(int=random.getrandbits(128), version=4)}"
