"""Trail: who had taken over from whom when a run ended, read from the log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from rxagent.events import Event
from rxagent.invocation import is_checkpoint

__all__ = ["Trail"]


@final
class Trail:
    """The agents at work, one having handed over to the next, and the last event that each has to go by.

    ::

        log     root: transfer kid    kid: transfer pet    pet: call    pet: end    kid: text
        agents  root kid              root kid pet         root kid pet root kid    root kid

    An end marker closes the agent's work; one of the first agent begins the trail anew. branch: of the first agent.
    """

    __slots__ = ("_first", "agents", "lasts")

    def __init__(self, first: str, events: Iterable[Event], branch: str | None) -> None:
        self._first = first
        self._begin()
        for event in events:
            if branch is None or event.branch == branch or (event.branch or "").startswith(f"{branch}."):
                self._read(event)

    def _begin(self) -> None:
        self.agents: list[str] = [self._first]
        self.lasts: list[Event | None] = [None]

    def _read(self, event: Event) -> None:
        by_last = event.author == self.agents[-1]
        if is_checkpoint(event):
            if by_last and event.actions.end_of_agent:
                self._end()
        elif event.author == "user":
            if event.function_responses and any(self.lasts):
                self.lasts[-1] = event
        elif (
            event.parts
            and not (event.error_code and not event.function_responses)
            and (by_last or len(self.agents) > 1)
        ):
            self.lasts[-1] = event
            if by_last and event.actions.transfer_to_agent:
                self.agents.append(event.actions.transfer_to_agent)
                self.lasts.append(None)

    def _end(self) -> None:
        if len(self.agents) == 1:
            self._begin()
            return
        self.agents.pop()
        last = self.lasts.pop()
        self.lasts[-1] = last or self.lasts[-1]
