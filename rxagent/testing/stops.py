"""Stops: what must be true of a run that was left, and of one that was asked to stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from rxagent.agents import BaseAgent
from rxagent.events import Event
from rxagent.events.pairing import open_calls
from rxagent.history.sealing import ABORTED
from rxagent.invocation import Outcome, OutcomeKind, StopDepth

from .probe import Probe

__all__ = ["DEPTHS", "REASON", "How", "Left", "Logged", "abort_faults", "abort_log_faults", "brief", "dispose_faults"]

How = Literal["dispose", "abort", "abort_after_tool", "abort_after_turn"]
"""Whether a run is left, or asked to stop: now, after the tools that run, or after the step."""

DEPTHS: Final[Mapping[How, StopDepth]] = {"abort": "now", "abort_after_tool": "tool", "abort_after_turn": "turn"}
"""The ways to ask, and how deep each cuts."""

REASON: Final = "user_stop"


_BEGINNINGS: Final[Mapping[StopDepth, tuple[str, ...]]] = {"now": ("",), "tool": ("model", "tool"), "turn": ()}
"""What does not begin after the stop, by the first words of its instants."""


class Left(NamedTuple):
    """How a stopped run went on. whole: how it ends when it is not stopped. is_over: it was stopped after its end.

    late: what its consumer got after the stop. error: what its consumer was told.
    """

    outcome: Outcome
    whole: OutcomeKind | None
    is_over: bool
    probe: Probe
    late: Sequence[str]
    error: Exception | None


def dispose_faults(left: Left) -> Iterator[str]:
    """After a dispose: nothing begins, nothing is delivered, and the outcome says so."""
    expected = left.whole if left.is_over else "disposed"
    if left.outcome.kind != expected:
        yield f"the outcome is {left.outcome.kind}, not {expected}"
    yield from (f"began after the stop: {point}" for point in left.probe.late)
    yield from (f"delivered after the stop: {what}" for what in left.late)


def abort_faults(left: Left, depth: StopDepth) -> Iterator[str]:
    """After an abort the stream completes. After one that acts now nothing begins, and no partial event is delivered;
    after one that waits for the tools no model call and no tool begins."""
    outcome = left.outcome
    if left.error is not None:
        yield f"the aborted run fails: {left.error!r}"
    if outcome.kind == "aborted" and not left.is_over:
        if outcome.reason != REASON:
            yield f"the outcome's reason is {outcome.reason!r}, not {REASON!r}"
        yield from (
            f"began after the stop: {point}" for point in left.probe.late if point.startswith(_BEGINNINGS[depth])
        )
        if depth == "now":
            yield from (f"delivered after the stop: {what}" for what in left.late if what.startswith("partial"))
    elif outcome.kind != left.whole:
        yield f"the outcome is {outcome.kind}, neither aborted nor {left.whole}"


class Logged(NamedTuple):
    """A stopped run's part of the log: events, the user's first; before: how many were stored when it was stopped.

    agent_is_done: it was stopped in, or after, its after-run hooks.
    """

    events: Sequence[Event]
    before: int
    agent_is_done: bool


def abort_log_faults(
    kind: OutcomeKind, is_over: bool, logged: Logged, agent: BaseAgent, saved: int, depth: StopDepth
) -> Iterator[str]:
    """After an abort: each call of the run is answered, the last event tells of it; or the run had said its last, as
    one that is asked to stop later may still do.

    saved: the events of the run when it is not stopped.
    """
    events = logged.events
    left = [str(call) for call in open_calls(events) if not call.long_running]
    yield from (f"after the abort a call is open: {call}" for call in left)
    told = [event for event in events if event.error_code == ABORTED]
    if kind == "aborted":
        tail = list(events[len(events) - len(told) :])
        if not told or [one.id for one in told] != [one.id for one in tail]:
            yield f"the last event does not tell of the abort: {brief(events)}"
        yield from (
            f"an event does not say why: {brief([one])}" for one in told if REASON not in (one.error_message or "")
        )
    elif told:
        yield f"the run was {kind}, and its log tells of an abort: {brief(events)}"
    elif len(events) != saved:
        yield f"the run was {kind}, but with {len(events)} events, not {saved}: {brief(events)}"
    elif depth == "now" and not is_over and not _had_said_its_last(logged, agent):
        yield f"the run was {kind}, though it had not said its last when it was asked to stop: {brief(events)}"


def _had_said_its_last(logged: Logged, agent: BaseAgent) -> bool:
    """Before the stop, or by the append that was under way."""
    said = [[event for event in logged.events[:count] if event.content] for count in (logged.before, logged.before + 1)]
    return logged.agent_is_done or any(events and agent.ends_with(events[-1]) for events in said)


def brief(events: Sequence[Event]) -> str:
    """Events in a few words."""
    return ", ".join(f"{event.author}:{event.text[:20] or _calls(event)}" for event in events) or "nothing"


def _calls(event: Event) -> str:
    names = [f"{call.name}()" for call in event.function_calls]
    names += [f"={response.name}" for response in event.function_responses]
    return "+".join(names) or event.error_code or "(no content)"
