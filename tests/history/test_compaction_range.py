"""What a summary stands for: what it hides when it is read, and what one can be written for."""

from __future__ import annotations

import random

import pytest

from rxagent.events import Content, Event, EventActions, EventCompaction
from rxagent.events.pairing import Pairing
from rxagent.history.compaction_range import Span, fitting, still_needed, visible

from .logs import call as calling
from .logs import calls, responds, response, said, sent, user
from .summaries import summary, timed

# -- what a summary hides ----------------------------------------------------------------------------------------------


def test_a_summary_takes_the_place_of_what_it_covers() -> None:
    """The events in its span are not sent, the summary stands in their place, and what came later behind it."""
    log = timed(user("q1"), said("root", "a1"), user("q2"), said("root", "a2"))
    assert sent(*log, summary(1, 3)) == ["model: summary", "model: a2"]
    assert sent(*log[:2], summary(1, 2), *log[2:]) == ["model: summary", "user: q2", "model: a2"]


def test_a_summary_covers_nothing_behind_it() -> None:
    """An event that was stored after the summary is sent, whatever its time."""
    log = timed(user("q1"), said("root", "a1"))
    assert sent(*log, summary(1, 9), *timed(user("q2"), times=[1])) == ["model: summary", "user: q2"]


def test_a_later_summary_replaces_what_it_covers() -> None:
    """A summary that covers an earlier one takes its place; one that only overlaps stands behind it (i11, i12)."""
    log = timed(user("q1"), said("root", "a1"), user("q2"), said("root", "a2"), user("q3"))
    rolling = [*log[:2], summary(1, 2, "one"), *log[2:], summary(1, 4, "two")]
    assert sent(*rolling) == ["model: two", "user: q3"]
    overlapping = [*log[:3], summary(1, 3, "one"), *log[3:], summary(3, 4, "two")]
    assert sent(*overlapping) == ["model: one", "model: two", "user: q3"]


def test_other_agents_events_are_covered_too() -> None:
    """What another agent said is hidden like the rest."""
    log = timed(user("q1"), said("other", "a1"), user("q2"))
    assert sent(*log, summary(1, 2)) == ["model: summary", "user: q2"]


def test_broken_summaries_are_ignored() -> None:
    """A summary without words or without times hides nothing."""
    (event,) = timed(user("q1"))
    for compaction in (
        EventCompaction(start_timestamp=1, end_timestamp=1),
        EventCompaction(start_timestamp=1, compacted_content=Content.model("x")),
        EventCompaction(start_timestamp=1, end_timestamp=1, compacted_content=Content(role="model")),
    ):
        assert sent(event, Event(actions=EventActions(compaction=compaction))) == ["user: q1"]


def test_a_summary_opens_the_turn_that_it_hides() -> None:
    """With include_contents="none", a turn whose message was summarised begins with the summary."""
    log = timed(user("q1"), said("root", "a1"), user("q2"), said("root", "a2"))
    assert sent(*log, summary(1, 3), include="none") == ["model: summary", "model: a2"]
    assert sent(*log[:2], summary(1, 2), *log[2:], include="none") == ["user: q2", "model: a2"]
    assert sent(*log, *timed(said("root", "a3"), times=[5]), summary(3, 4), include="none") == [
        "model: summary",
        "model: a3",
    ]


def test_a_summary_of_what_an_agent_does_not_see() -> None:
    """A summary of another branch stands before what came later."""
    log = timed(said("other", "x", branch="p.b"), user("q"))
    assert sent(*log, summary(1, 1), branch="p.a") == ["model: summary", "user: q"]


def test_a_call_whose_answer_is_outside_stays() -> None:
    """A call in the span is sent as long as its answer stands outside of it: a model refuses one alone (i17)."""
    log = timed(user("q1"), calls("root", calling("c")), responds("root", response("c", ok=1)))
    assert sent(*log, summary(1, 2)) == ["model: summary", "model: t#c()", "user: t#c->ok=1"]
    assert sent(*log, summary(1, 3)) == ["model: summary"]


def test_a_pending_call_stays_and_can_be_answered() -> None:
    """A designed pause in the span is sent as pending, and later with its answer (i18); so it is after an interim
    value, which is no answer."""
    pause = calls("root", calling("L"), pauses=["L"])
    log = timed(user("go"), pause)
    late = user(response("L", r=1))
    assert sent(*log, summary(1, 2)) == ["model: summary", "model: t#L()", "user: t#L->pending"]
    assert sent(*log, summary(1, 2), late) == ["model: summary", "model: t#L()", "user: t#L->r=1"]
    interim = timed(user("go"), pause, responds("root", response("L", r=0)))
    assert sent(*interim, summary(1, 3), late)[-1] == "user: t#L->r=1"


def test_a_call_that_is_asked_about_stays() -> None:
    """While a question for confirmation is pending, the call that it is about stays: it will be answered again."""
    question = calling("Q", "adk_request_confirmation", originalFunctionCall={"id": "c", "name": "t"})
    log = timed(
        user("go"),
        calls("root", calling("c")),
        calls("root", question, pauses=["Q"]),
        responds("root", response("c", error="ask")),
    )
    answers = [user(response("Q", "adk_request_confirmation", confirmed=True)), responds("root", response("c", ok=1))]
    assert sent(*log, summary(1, 4), *answers) == ["model: summary", "model: t#c()", "user: t#c->ok=1"]


def test_a_second_answer_to_a_hidden_call_is_told() -> None:
    """An answer to a call that a summary hides is told as context, not sent without its call."""
    log = timed(user("q"), calls("root", calling("c")), responds("root", response("c", ok=1)))
    assert sent(*log, summary(1, 3), user(response("c", ok=2))) == [
        "model: summary",
        'user: For context: | [root] `t` tool returned result: {"ok":2}',
    ]


# -- what a summary can stand for --------------------------------------------------------------------------------------


def test_what_is_visible() -> None:
    """Visible is what has content and no summary hides; state alone is nothing to summarise."""
    state = Event(author="root", actions=EventActions(state_delta={"x": 1}))
    pause = calls("root", calling("L"), pauses=["L"])
    log = timed(user("q1"), state, pause, said("root", "a"), user("q2"))
    assert visible(log) == [0, 2, 3, 4]
    assert visible([*log, summary(1, 4)]) == [2, 4]


def test_still_needed() -> None:
    """Needed are calls in the span that are open, and those with an answer outside."""
    log = timed(calls("root", calling("a"), calling("b")), responds("root", response("a")), calls("root", calling("c")))
    assert still_needed(Pairing(log).calls, Span(1, 3)) == {0, 2}
    assert still_needed(Pairing(log).calls, Span(1, 2)) == {0}
    assert still_needed(Pairing(log).calls, Span(2, 2)) == set()


def test_times_that_are_equal() -> None:
    """An event of the same millisecond that is to be kept is never hidden: the summary stands for less."""
    log = timed(user("q1"), said("root", "a1"), user("q2"), said("root", "a2"), times=[1, 2, 2, 3])
    assert fitting(log, [0, 1]) == [0]
    assert fitting(log, [0, 1, 2]) == [0, 1, 2]
    assert fitting(log, [2, 3]) == [3]


def test_times_that_go_backwards() -> None:
    """When the clock was set back, what is kept is still not hidden."""
    log = timed(user("q1"), said("root", "a1"), user("q2"), times=[1, 50, 20])
    assert fitting(log, [0, 1]) == [0]


@pytest.mark.parametrize("seed", range(200))
def test_a_span_hides_what_was_chosen(seed: int) -> None:
    """Whatever the times and calls: a summary of what fits hides exactly that, and never half of a pair."""
    rng = random.Random(seed)
    log: list[Event] = []
    owed: list[str] = []
    for number in range(rng.randrange(2, 12)):
        kind = rng.choice(["user", "say", "call", "pause", "answer"])
        if kind in ("call", "pause"):
            owed.append(f"c{number}")
            log.append(calls("root", calling(f"c{number}"), pauses=[f"c{number}"] if kind == "pause" else []))
        elif kind == "answer" and owed:
            log.append(responds(rng.choice(["root", "user"]), response(owed.pop(rng.randrange(len(owed))), n=number)))
        else:
            log.append(user(f"q{number}") if kind == "user" else said("root", f"a{number}"))
    log = timed(*log, times=[rng.randrange(6) if seed % 2 else 2 * n // 3 for n in range(len(log))])
    wanted = sorted(rng.sample(range(len(log)), rng.randrange(1, len(log) + 1)))
    before = visible(log)
    chosen = fitting(log, wanted)
    assert set(chosen) <= set(wanted)
    if chosen:
        times = [log[position].timestamp for position in chosen]
        after = visible([*log, summary(min(times), max(times))])
        assert [position for position in before if position not in after] == chosen
        calls_sent = {call.call_id for call in Pairing(log).calls if call.position in after}
        answers_sent = {r.id for position in after for r in log[position].function_responses}
        assert answers_sent <= calls_sent
