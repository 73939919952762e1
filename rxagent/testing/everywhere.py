"""cancel_everywhere: run a scenario, then again and again, each time stopped at another of its instants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rxagent.events import Content, Event, Message
from rxagent.invocation import RunConfig
from rxagent.runner import Runner

from .stops import How
from .trial import AFTER_THE_END, AT_ONCE, NOT_AGAIN, Scenario, Tried, try_once

__all__ = ["CancelReport", "How", "cancel_everywhere"]

_NEVER: Final = "never stopped"
_TRIES: Final = 5  # a foreign thread may be too fast for an instant, now and then
_MISSED: Final = Tried([], [NOT_AGAIN], 0.0, None, 0)


class CancelReport(NamedTuple):
    """What cancel_everywhere did. points: the instants, in their order. slowest: seconds of the slowest stop."""

    points: tuple[str, ...]
    slowest: float


def cancel_everywhere(
    make_runner: Callable[[], Runner],
    message: Message,
    *,
    run_config: RunConfig | None = None,
    how: Sequence[How] = ("dispose",),
    user_id: str = "tester",
    session_id: str = "cancel_everywhere",
    state: Mapping[str, Any] | None = None,
    events: Sequence[Event] = (),
    timeout: float = 15.0,
) -> CancelReport:
    """Show that a scenario can be left, or stopped from outside, at every instant.

    The scenario (`message` to a fresh runner, on a session of its own with `state` and `events`) is run once to its
    end, to learn its instants: each event and partial, each append begun and stored, each model call, tool, agent and
    hook, right after the subscribe, and after the end. Then it is run once for each of them, and stopped there. Each
    time, however it is stopped:

    - after the stop no model call, tool or agent starts;
    - it is a valid log: numbers without gaps, no partial, no second response;
    - nothing of the run is left at work; `on_run_end` was told once, the after-run hook not at all;
    - the next message on the session works; each of its model requests has one response for each call.

    After a dispose nothing is emitted or appended; the log holds the user's event, what was seen, and at most the one
    event whose append was under way. After an abort the stream completes; the log holds the user's event and what was
    seen; its last event tells of the abort, and every call has its one response; or the run had said its last already,
    and ends as if nobody had asked.

    how: "dispose" leaves, "abort" asks to stop by an AbortSignal; "abort_after_tool" and "abort_after_turn" ask for a
    stop that waits for the tools that run, and for the step: what these still do is no fault. make_runner: builds the
    runner anew for each run, its models and their scripts as well (`model.fresh()`). run_config:
    `RunConfig(streaming_mode="sse")` by default. timeout: seconds for one run to end.

    Raises AssertionError with all that was found, instant by instant; also when the scenario itself fails, or does
    not come to an instant again.
    """
    scenario = Scenario(
        make_runner,
        Content.of(message),
        run_config or RunConfig(streaming_mode="sse"),
        user_id,
        dict(state or {}),
        tuple(events),
        timeout,
    )
    reference = try_once(scenario, session_id)
    if reference.faults:
        raise AssertionError(_report({_NEVER: reference.faults}, 1))
    points = (AT_ONCE, *dict.fromkeys(reference.points), AFTER_THE_END)
    tried: dict[str, Tried] = {}
    for way in how:
        for number, point in enumerate(points, start=1):
            name = f"{session_id}-{way}-{number}"
            tries = (try_once(scenario, name, point, reference, way) for _ in range(_TRIES))
            tried[f"{way} at {point!r}"] = next((one for one in tries if NOT_AGAIN not in one.faults), _MISSED)
    found = {place: one.faults for place, one in tried.items() if one.faults}
    if found:
        raise AssertionError(_report(found, len(tried)))
    return CancelReport(points, max(one.stop_took for one in tried.values()))


def _report(found: Mapping[str, Sequence[str]], tried: int) -> str:
    total = sum(len(faults) for faults in found.values())
    lines = [f"{total} faults at {len(found)} of {tried} instants"]
    for place, faults in found.items():
        lines += [f"  {place}:", *(f"    - {fault}" for fault in faults)]
    return "\n".join(lines)
