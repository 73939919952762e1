"""What of a log an agent's model is sent. Names like f05 are the recordings of ADK Java that a case follows."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from rxagent.events import Blob, Content, Event, Part
from rxagent.flow.contents import REQUEST_CONFIRMATION, History, build_contents

from .logs import call, calls, responds, response, said, shown, user


def sent(*events: Event, agent: str = "root", **options: Any) -> list[str]:
    return shown(build_contents(events, agent_name=agent, **options))


# -- who says what -----------------------------------------------------------------------------------------------------


def test_own_and_the_users_words_are_sent_as_they_are() -> None:
    """The agent's own contents and the user's are the very contents of the log."""
    log = [user("hi"), said("root", "hello")]
    assert [one is event.content for one, event in zip(build_contents(log, agent_name="root"), log, strict=True)] == [
        True,
        True,
    ]


def test_other_agents_are_told_as_context() -> None:
    """f02: texts, calls and responses of other agents become context; their thoughts and blanks do not."""
    assert sent(
        user("old q"),
        said("other", Part(text="think", thought=True), "said", call("o1", x=1)),
        responds("other", response("o1", y=[1, 2])),
        said("other", Part(text="only thought", thought=True)),
        said("other", "  "),
        said("root", "mine"),
        user("hi"),
    ) == [
        "user: old q",
        'user: For context: | [other] said: said | [other] called tool `t` with parameters: {"x":1}',
        'user: For context: | [other] `t` tool returned result: {"y":[1,2]}',
        "model: mine",
        "user: hi",
    ]


def test_files_of_other_agents_are_sent_as_they_are() -> None:
    """A file or a picture of another agent stands verbatim behind the words that open the context."""
    picture = Part(inline_data=Blob(mime_type="image/png", data=b"1"))
    (content,) = build_contents([said("other", picture)], agent_name="root")
    assert content.parts == (Part(text="For context:"), picture)


def test_a_reply_of_a_run_level_hook_counts_as_own_words() -> None:
    """An event of the author "model" is sent as the agent's own words, to every agent."""
    assert sent(user("hi"), said("model", "closed today"), user("when?"))[1] == "model: closed today"


@pytest.mark.parametrize(("author", "role"), [("user", "user"), ("root", "model")])
def test_a_missing_role_is_filled_in(author: str, role: str) -> None:
    """A stored content without role is sent, with the role of its author (a17 loses it)."""
    assert sent(said(author, "hi", role=None)) == [f"{role}: hi"]


@pytest.mark.parametrize(
    "event",
    [
        Event(author="root"),
        Event(author="root", content=Content(role="model")),
        said("root", Part()),
        said("root", Part(text="hm", thought=True)),
        said("root", "half", partial=True),
    ],
    ids=["no content", "no parts", "empty part", "only a thought", "partial"],
)
def test_events_with_nothing_to_say_are_not_sent(event: Event) -> None:
    """No content, no parts, nothing but thoughts, or a partial: not sent."""
    assert sent(user("hi"), event) == ["user: hi"]


def test_an_empty_text_and_a_bare_signature_are_sent() -> None:
    """An empty text is something said; so is a signature without text."""
    assert len(sent(said("root", ""), said("root", Part(thought_signature="c2ln")))) == 2


# -- branches ----------------------------------------------------------------------------------------------------------


def test_branches_are_compared_by_whole_names() -> None:
    """f03, f25: seen are events without branch, of the same and of ancestor branches; not siblings, not descendants,
    not a branch whose name merely begins alike."""
    log = [
        user("q"),
        said("a", "same", branch="fan.ab"),
        said("fan", "ancestor", branch="fan"),
        said("x", "sibling", branch="fan.b"),
        said("x", "begins alike", branch="fan.a"),
        said("x", "descendant", branch="fan.ab.x"),
    ]
    assert sent(*log, agent="a", branch="fan.ab") == [
        "user: q",
        "model: same",
        "user: For context: | [fan] said: ancestor",
    ]


def test_without_a_branch_everything_is_seen() -> None:
    """d14: an agent without branch sees all branches."""
    assert len(sent(said("a", "x", branch="fan.a"), said("b", "y", branch="fan.b"), agent="join")) == 2


# -- the current turn alone --------------------------------------------------------------------------------------------


def test_include_none_sends_the_current_turn() -> None:
    """f01: from the newest event of the user or of another agent on."""
    assert sent(
        user("q1"),
        said("a", "a1"),
        said("b", "b1"),
        user("q2"),
        said("a", "a2"),
        calls("b", call("c1")),
        responds("b", response("c1", ok=True)),
        agent="b",
        include="none",
    ) == ["user: For context: | [a] said: a2", "model: t#c1()", "user: t#c1->ok=True"]


def test_include_none_is_not_cut_by_an_event_without_words() -> None:
    """A marker without content, or an event of another branch, does not begin a turn."""
    log = [user("q"), said("a", "a1"), Event(author="a"), said("c", "c1", branch="fan.c")]
    assert sent(*log, agent="b", branch="fan.b", include="none") == ["user: For context: | [a] said: a1"]


@pytest.mark.promise("J38")
def test_include_none_brings_the_call_along_that_the_user_answers() -> None:
    """A late answer of the user is sent with its call also when only the current turn is."""
    assert sent(
        user("q"),
        calls("root", call("L"), pauses=["L"]),
        said("root", "started"),
        user(response("L", r=1)),
        include="none",
    ) == ["model: t#L()", "user: t#L->r=1"]


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


def test_an_open_call_that_is_no_designed_pause_stays_open() -> None:
    """f08: the history invents no result; a run seals such a call before it asks."""
    assert sent(
        user("start"),
        calls("root", call("A", "a"), call("B", "b")),
        responds("root", response("B", "b", r="b")),
        user("next"),
    ) == ["user: start", "model: a#A() | b#B()", "user: b#B->r=b", "user: next"]


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


# -- repeated ids ------------------------------------------------------------------------------------------------------


def test_an_id_used_in_two_turns() -> None:
    """f24: each call has its own result, although a server numbers both alike."""
    log = [
        user("q1"),
        calls("root", call("X", n=1)),
        responds("root", response("X", n=1)),
        said("root", "one"),
        user("q2"),
        calls("root", call("X", n=2)),
        responds("root", response("X", n=2)),
    ]
    assert build_contents(log, agent_name="root") == [event.content for event in log]


def test_an_id_used_twice_in_one_event() -> None:
    """b14: two calls with one id get their responses in order, by name and then by place."""
    for names in (["a", "b"], ["a", "a"]):
        log = [
            calls("root", *[call("same", name) for name in names]),
            responds("root", *[response("same", name, n=n) for n, name in enumerate(names)]),
            said("root", "done"),
            user("next"),
        ]
        assert build_contents(log, agent_name="root") == [event.content for event in log]


def test_an_id_used_in_two_branches() -> None:
    """Responses go to the call of their own branch, however the branches' events are mixed."""
    names = ["a", "b"]
    for order in itertools.permutations(names):
        log = [
            *[calls(name, call("call_0", n=name), branch=f"fan.{name}") for name in names],
            *[responds(name, response("call_0", r=name), branch=f"fan.{name}") for name in order],
        ]
        for name in names:
            assert sent(*log, agent=name, branch=f"fan.{name}") == [
                f"model: t#call_0(n={name})",
                f"user: t#call_0->r={name}",
            ]


def test_calls_without_ids_are_paired_by_name() -> None:
    """Logs without ids work: the response answers the call of its name."""
    assert sent(
        calls("root", call(None, "a"), call(None, "b")),
        responds("root", response(None, "b", r=2), response(None, "a", r=1)),
        said("root", "done"),
    ) == ["model: a#None() | b#None()", "user: b#None->r=2 | a#None->r=1", "model: done"]


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


# -- growing -----------------------------------------------------------------------------------------------------------


def test_a_history_that_grows_equals_one_made_at_once() -> None:
    """Extending event by event, asking in between, gives the same contents as one pass over the whole log."""
    log = [
        user("q1"),
        calls("root", call("X"), call("L"), pauses=["L"]),
        responds("root", response("X", n=1)),
        said("other", "hm", call("X")),
        responds("other", response("X", n=2)),
        said("root", "one"),
        user(response("L", done=1)),
        said("root", "thanks"),
        user("q2"),
    ]
    history = History("root")
    for end, event in enumerate(log, start=1):
        history.extend([event])
        for include in ("default", "none"):
            assert history.contents(include) == build_contents(log[:end], agent_name="root", include=include)
