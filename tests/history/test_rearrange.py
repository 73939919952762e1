"""Where calls and responses stand in a request."""

from __future__ import annotations

import pytest

from rxagent.events import REQUEST_CONFIRMATION, Event
from rxagent.history.contents import build_contents

from .logs import call, calls, responds, response, said, sent, shown, user

# -- calls and responses -----------------------------------------------------------------------------------------------


def test_responses_stay_behind_their_calls_turn_by_turn() -> None:
    """f23: each call event is followed by its responses."""
    log = [
        user("q1"),
        calls("root", call("A1")),
        responds("root", response("A1", r=1)),
        calls("root", call("A2")),
        responds("root", response("A2", r=1)),
        said("root", "done"),
        user("q2"),
    ]
    assert build_contents(log, agent_name="root") == [event.content for event in log]


def test_the_newest_event_is_a_late_response() -> None:
    """f05: what stands between a call and its late response is left out of that one request."""
    assert sent(
        user("start"),
        calls("root", call("L1"), pauses=["L1"]),
        responds("root", response("L1", status="started")),
        said("root", "started"),
        user("meanwhile"),
        said("root", "chat"),
        user(response("L1", final=2)),
    ) == ["user: start", "model: t#L1()", "user: t#L1->final=2"]


def test_a_text_of_the_same_stream_is_left_out() -> None:
    """b23: a text that came between a call and its result is not in the next request."""
    assert sent(
        user("hi"), calls("root", call("ca")), said("root", "meanwhile"), responds("root", response("ca", r="a"))
    ) == ["user: hi", "model: t#ca()", "user: t#ca->r=a"]


def test_a_late_response_further_back() -> None:
    """f06: later, the late response stands behind its call, and what was said meanwhile is there again."""
    assert sent(
        user("start"),
        calls("root", call("L1"), pauses=["L1"]),
        responds("root", response("L1", status="started")),
        said("root", "started"),
        user(response("L1", final=2)),
        said("root", "thanks"),
        user("next"),
    ) == ["user: start", "model: t#L1()", "user: t#L1->final=2", "model: started", "model: thanks", "user: next"]


def test_two_calls_answered_apart() -> None:
    """f07: responses in separate events are merged behind the call event, in the order of arrival."""
    assert sent(
        user("start"),
        calls("root", call("A", "a"), call("B", "b")),
        user(response("B", "b", r="b")),
        said("root", "got b"),
        user(response("A", "a", r="a")),
        said("root", "got a"),
        user("next"),
    ) == [
        "user: start",
        "model: a#A() | b#B()",
        "user: b#B->r=b | a#A->r=a",
        "model: got b",
        "model: got a",
        "user: next",
    ]


def test_a_later_response_takes_the_place_of_the_earlier_one() -> None:
    """g05: the replaced response keeps its place among the responses."""
    assert sent(
        calls("root", call("c1"), call("c2")),
        responds("root", response("c1", e=1), response("c2", e=2)),
        said("root", "confirm both"),
        responds("root", response("c1", r="done")),
    ) == ["model: t#c1() | t#c2()", "user: t#c1->r=done | t#c2->e=2"]


def test_an_open_call_that_is_no_designed_pause_is_not_known() -> None:
    """A run seals such a call before it asks; when that was lost, the request says that nothing is known of it."""
    start, asked, answered, asked_more = sent(
        user("start"),
        calls("root", call("A", "a"), call("B", "b")),
        responds("root", response("B", "b", r="b")),
        user("next"),
    )
    assert (start, asked, asked_more) == ("user: start", "model: a#A() | b#B()", "user: next")
    assert answered.startswith("user: b#B->r=b | a#A->status=unknown,")


@pytest.mark.parametrize("before", [[], [user("q1"), said("root", "ok")]], ids=["f09", "f10"])
def test_an_orphan_response_is_not_sent(before: list[Event]) -> None:
    """f09, f10: a response without a call is not sent, and fails no request."""
    assert sent(*before, user(response("G1", "ghost", r=1))) == shown(build_contents(before, agent_name="root"))


def test_words_beside_a_late_response_stay_where_they_are() -> None:
    """A text in the same message as a response is sent at its own place, behind the responses."""
    assert sent(
        user("q"), calls("root", call("L"), pauses=["L"]), said("root", "wait"), user(response("L", r=1), "here it is")
    ) == ["user: q", "model: t#L()", "user: t#L->r=1", "model: wait", "user: here it is"]


def test_questions_for_confirmation_are_not_sent() -> None:
    """g01: neither the synthetic call nor the user's answer to it; the tool's real result replaces the first one."""
    assert sent(
        user("go"),
        calls("root", call("c1", "delete")),
        responds("root", call("k1", REQUEST_CONFIRMATION), long_running_tool_ids=frozenset(["k1"])),
        responds("root", response("c1", "delete", error="needs confirmation")),
        said("root", "please confirm"),
        user(response("k1", REQUEST_CONFIRMATION, confirmed=True)),
        responds("root", response("c1", "delete", ok=True)),
    ) == ["user: go", "model: delete#c1()", "user: delete#c1->ok=True"]


# -- designed pauses ---------------------------------------------------------------------------------------------------


@pytest.mark.promise("J38")
def test_a_paused_call_is_sent_with_still_pending() -> None:
    """An open designed pause has a "still pending" response in the request, behind the real ones (h14)."""
    assert sent(
        user("go"), calls("root", call("L"), call("c"), pauses=["L"]), responds("root", response("c", ok=1)), user("?")
    ) == ["user: go", "model: t#L() | t#c()", "user: t#c->ok=1 | t#L->pending", "user: ?"]


@pytest.mark.promise("J38")
def test_an_interim_value_stands_in_for_still_pending() -> None:
    """A long-running tool's interim value is its response: there is exactly one."""
    assert sent(calls("root", call("L"), pauses=["L"]), responds("root", response("L", ticket=7)), user("?")) == [
        "model: t#L()",
        "user: t#L->ticket=7",
        "user: ?",
    ]


@pytest.mark.promise("J38")
def test_the_answer_to_another_agents_call_is_told_as_context() -> None:
    """f26, h09: an answer of the user is never hidden; other agents read it as context."""
    assert sent(
        user("start"),
        calls("other", call("L1", "slow"), pauses=["L1"]),
        user(response("L1", "slow", final=2)),
        said("other", "got it"),
        user("next"),
    ) == [
        "user: start",
        "user: For context: | [other] called tool `slow` with parameters: {}",
        'user: For context: | [other] `slow` tool returned result: {"final":2}',
        "user: For context: | [other] said: got it",
        "user: next",
    ]


@pytest.mark.promise("J38")
def test_a_late_response_hides_no_other_answer_of_the_user() -> None:
    """Between a call and its late response, the answers that the user gave to other calls stay."""
    assert sent(
        user("q"),
        calls("root", call("L1"), pauses=["L1"]),
        calls("other", call("O"), pauses=["O"]),
        said("root", "chat"),
        calls("root", call("L2"), pauses=["L2"]),
        user(response("L2", r=2)),
        said("root", "two is here"),
        user(response("O", r=3)),
        user(response("L1", r=1)),
    ) == [
        "user: q",
        "model: t#L1()",
        "user: t#L1->r=1",
        "model: t#L2()",
        "user: t#L2->r=2",
        'user: For context: | [other] `t` tool returned result: {"r":3}',
    ]
