"""What must be true of every log and every request, in words when it is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rxagent.events import Content, Event
from rxagent.events.pairing import LoggedCall, Pairing, Reply

__all__ = ["asks_first", "log_faults", "request_faults"]


def log_faults(events: Sequence[Event]) -> Iterator[str]:
    """What is wrong with a log, whoever wrote it.

    Sequence numbers run from 1 without a gap; no partial event is stored; a call has one response at most, and one more
    for each question about it, whose results are provisional; a designed pause may have any; each response answers a
    call.
    """
    numbers = [event.seq for event in events]
    if numbers != list(range(1, len(events) + 1)):
        yield f"the log's sequence numbers are {numbers}"
    for event in events:
        if event.partial:
            yield f"event {event.seq} is partial and was stored"
    pairing = Pairing(events)
    asked = Counter(pairing.original_of(call) for call in pairing.calls if call.is_question)
    for call in pairing.calls:
        if len(call.replies) > 1 + asked[call] and not call.long_running:
            yield f"call {call.name} ({call.call_id}) has {len(call.replies)} responses in the log"
    responses = sum(len(event.function_responses) for event in events)
    orphans = responses - sum(len(call.replies) for call in pairing.calls)
    if orphans:
        yield f"{orphans} responses in the log answer no call"


def asks_first(call: LoggedCall, reply: Reply) -> bool:
    """True for the provisional response of a tool that asks the user before it runs."""
    return call.call_id in reply.event.actions.requested_tool_confirmations


def request_faults(contents: Iterable[Content]) -> Iterator[str]:
    """What a model's server would refuse: calls must be followed by one content with one response for each."""
    owed: Counter[tuple[str | None, str | None]] = Counter()
    for content in contents:
        parts = content.parts or ()
        given = Counter((answer.id, answer.name) for part in parts if (answer := part.function_response) is not None)
        if owed != given:
            yield from _unequal(owed, given)
        owed = Counter((call.id, call.name) for part in parts if (call := part.function_call) is not None)
    yield from _unequal(owed, Counter())


def _unequal(
    owed: Counter[tuple[str | None, str | None]], given: Counter[tuple[str | None, str | None]]
) -> Iterator[str]:
    for (id, name), count in (owed - given).items():
        yield f"the request has {count} calls of {name} ({id}) without a response behind them"
    for (id, name), count in (given - owed).items():
        yield f"the request has {count} responses of {name} ({id}) that are not behind their call"
