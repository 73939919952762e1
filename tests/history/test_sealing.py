"""Open calls, designed pauses, and the seals of the former."""

from __future__ import annotations

import pytest

from rxagent.events import Event
from rxagent.events.pairing import open_calls, pending_calls
from rxagent.history.contents import build_contents
from rxagent.history.sealing import ABORTED, CALL_SEALED, SealStatus, calls_to_seal, is_seal, seal_events, seal_part

from .logs import call, calls, responds, response, said, shown, user


@pytest.mark.promise("A13", "plain_message")
def test_open_are_the_occurrences_without_a_response() -> None:
    """Open calls are found by occurrence: an id that was answered before may be open again."""
    log = [
        user("q"),
        calls("root", call("X", n=1)),
        responds("root", response("X", n=1)),
        calls("root", call("X", n=2), call("Y")),
        responds("root", response("Y")),
    ]
    (found,) = open_calls(log)
    assert (found.call_id, found.position, found.function_call.args) == ("X", 3, {"n": 2})
    assert (found.name, found.author, found.branch, found.invocation_id) == ("t", "root", None, "i1")


@pytest.mark.promise("A13", "plain_message")
def test_a_designed_pause_is_not_sealed() -> None:
    """What its event lists as long-running is open and pending, and is not to be sealed."""
    log = [calls("root", call("L"), call("c"), pauses=["L"])]
    assert [one.call_id for one in open_calls(log)] == ["L", "c"]
    assert [one.call_id for one in calls_to_seal(log)] == ["c"]


@pytest.mark.promise("A13", "plain_message")
def test_the_new_message_may_answer_what_would_be_sealed() -> None:
    """A call that the new message itself answers is not sealed (h21)."""
    log: list[Event] = [calls("root", call("a"), call("b"))]
    assert [one.call_id for one in calls_to_seal([*log, user(response("a", by="hand"))])] == ["b"]


def test_pending_is_a_pause_without_an_answer() -> None:
    """A user's response answers, the tool's own error too; an interim value does not."""
    log = [calls("root", *[call(id) for id in "ABCD"], pauses="ABCD")]
    log += [responds("root", response("A", ticket=1), response("B", status="error"), response("C", ticket=2))]
    log += [user(response("C", done=True))]
    assert [one.call_id for one in pending_calls(log)] == ["A", "D"]


@pytest.mark.promise("A13", "plain_message")
def test_one_seal_event_for_each_run_author_and_branch() -> None:
    """Seals carry their calls' own invocation id, author and branch, in call order."""
    log = [
        calls("a", call("1"), call("2"), branch="fan.a"),
        calls("b", call("3"), branch="fan.b"),
        calls("a", call("4"), branch="fan.a"),
        calls("a", call("5"), branch="fan.a", invocation_id="i2"),
    ]
    seals = seal_events(calls_to_seal(log), "interrupted")
    assert [
        (seal.invocation_id, seal.author, seal.branch, [one.id for one in seal.function_responses]) for seal in seals
    ] == [
        ("i1", "a", "fan.a", ["1", "2", "4"]),
        ("i1", "b", "fan.b", ["3"]),
        ("i2", "a", "fan.a", ["5"]),
    ]
    assert all(is_seal(seal) for seal in seals)
    assert {seal.error_code for seal in seals} == {CALL_SEALED}
    assert not is_seal(log[0])


@pytest.mark.promise("A13", "plain_message")
def test_a_sealed_log_gives_a_well_formed_request() -> None:
    """After sealing nothing is open, and each call in the request has exactly one response."""
    log = [user("q"), calls("root", call("X")), calls("root", call("X"), call("Y")), responds("root", response("Y"))]
    log += [*seal_events(calls_to_seal(log), "interrupted"), user("again")]
    assert open_calls(log) == []
    lines = shown(build_contents(log, agent_name="root"))
    assert [line.split("->")[0] for line in lines] == [
        "user: q",
        "model: t#X()",
        "user: t#X",
        "model: t#X() | t#Y()",
        "user: t#Y",
        "user: again",
    ]
    assert "t#X->status=unknown" in lines[4]


@pytest.mark.parametrize("status", ["never_started", "stopped", "unknown"])
def test_a_seal_says_what_is_known_and_why(status: SealStatus) -> None:
    """The response names the status and the reason, in words, and holds no key of a result."""
    (one,) = open_calls([calls("root", call("X"))])
    told = seal_part(one, "user_stop", status).function_response
    assert told is not None
    assert (told.id, told.name) == ("X", "t")
    assert told.response is not None
    assert told.response["status"] == status
    assert "user_stop" in told.response["message"]
    assert set(told.response) == {"status", "message", "reason"}


@pytest.mark.promise("A4")
def test_an_abort_has_its_own_code_and_may_know_more() -> None:
    """An abort's seals have its error code and the status that is known of each call."""
    found = open_calls([calls("root", call("X"), call("Y")), said("root", "hm")])
    (seal,) = seal_events(
        found, "user_stop", error_code=ABORTED, status_of=lambda one: "stopped" if one.call_id == "X" else "unknown"
    )
    assert (seal.error_code, seal.error_message) == (ABORTED, "user_stop")
    assert [one.response["status"] for one in seal.function_responses if one.response] == ["stopped", "unknown"]
