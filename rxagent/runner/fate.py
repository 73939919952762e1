"""Fate: which end a run takes. The first decision wins, from whatever thread."""

from __future__ import annotations

from typing import Any, final

from rxagent.invocation import Outcome

__all__ = ["Fate", "Token"]


@final
class Token:
    """Something that can be taken once. Atomic, without a lock: it may be wanted inside anybody's lock."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left: list[Any] = [None]

    @property
    def is_taken(self) -> bool:
        """True once somebody has it."""
        return not self._left

    def take(self) -> bool:
        """True for the first taker only."""
        try:
            self._left.pop()
        except IndexError:
            return False
        return True


@final
class Fate:
    """Open, then decided for good."""

    __slots__ = ("_votes",)

    def __init__(self) -> None:
        self._votes: list[Outcome] = []  # list.append is the judge: the first vote counts

    @property
    def outcome(self) -> Outcome | None:
        """What was decided; None while it is open."""
        return self._votes[0] if self._votes else None

    @property
    def is_decided(self) -> bool:
        """True from the first decision on, for good."""
        return bool(self._votes)

    def decide(self, outcome: Outcome) -> bool:
        """True when this outcome is the one that counts."""
        self._votes.append(outcome)
        return self._votes[0] is outcome
