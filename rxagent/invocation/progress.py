"""Progress: which agents of a resumable invocation have finished, and where the others stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, final

from rxagent.events import Event

__all__ = ["Progress", "Standing", "is_checkpoint"]


class Standing(NamedTuple):
    """How an earlier run has left an agent. state: its newest checkpoint, `{}` when it wrote none."""

    has_finished: bool
    state: Mapping[str, Any]


@final
class Progress:
    """What the log says of the agents of an invocation, and what this run adds.

    An agent that begins takes its standing, once: whatever comes later in the run is new work. It is at work until it
    finishes; an agent that has paused never does, so a workflow sees whom it still waits for.

    ::

        log       a: text  a: end   b: call (pauses)
        standing  a finished        b open, {}            c none
        run       ------------------b takes, finishes-----c begins

    Threads: a run's branches, each with its own agents.
    """

    __slots__ = ("_at_work", "_standings")

    def __init__(self, standings: Mapping[str, Standing] | None = None) -> None:
        self._standings = dict(standings or {})
        self._at_work: set[str] = set()

    def begin(self, agent: str) -> Standing | None:
        """The agent begins; how an earlier run has left it, None when it is new."""
        standing = self._standings.pop(agent, None)
        if standing is None or not standing.has_finished:
            self._at_work.add(agent)
        return standing

    def finish(self, agent: str) -> None:
        """The agent has finished."""
        self._at_work.discard(agent)

    def hold(self, agent: str) -> None:
        """The agent is not done, after all."""
        self._at_work.add(agent)

    def release(self, agents: Iterable[str]) -> None:
        """Nobody waits for these any more."""
        self._at_work.difference_update(agents)

    def forget(self, agents: Iterable[str]) -> None:
        """These start over: how an earlier run has left them counts no longer."""
        for agent in agents:
            self._standings.pop(agent, None)

    def is_at_work(self, agent: str) -> bool:
        """True for one that has begun in this run and has not finished."""
        return agent in self._at_work

    def has_finished(self, agent: str) -> bool:
        """True for one that had finished before this run, and has not begun in it."""
        standing = self._standings.get(agent)
        return standing is not None and standing.has_finished


def is_checkpoint(event: Event) -> bool:
    """True for an event that only tells where an agent stands."""
    actions = event.actions
    return event.content is None and (actions.agent_state is not None or bool(actions.end_of_agent))
