"""What of a log an agent's model is sent. Names like f05 are the recordings of ADK Java that a case follows."""

from __future__ import annotations

import tracemalloc

import pytest

from rxagent.events import Content, Event, Part
from rxagent.history.contents import History, build_contents

from .logs import call, calls, responds, response, said, sent, user

# -- who says what -----------------------------------------------------------------------------------------------------


def test_own_and_the_users_words_are_sent_as_they_are() -> None:
    """The agent's own contents and the user's are the very contents of the log."""
    log = [user("hi"), said("root", "hello")]
    assert [one is event.content for one, event in zip(build_contents(log, agent_name="root"), log, strict=True)] == [
        True,
        True,
    ]


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


def test_requests_share_what_was_said_before() -> None:
    """A hundred requests of a log of 10,000 events hold it once; one that is changed does not change the next."""
    history = History("a")
    history.extend(said("a", "Hi") for _ in range(10_000))
    history.contents()
    tracemalloc.start()
    try:
        requests = [history.contents() for _ in range(100)]
        grown = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert grown < 100_000, "a list of its own for each takes 8 MB"
    del requests[0][1:]
    assert [len(request) for request in (*requests[:2], history.contents())] == [1, 10_000, 10_000]


def test_a_request_keeps_what_the_log_said_then() -> None:
    """What comes later, a late response or a summary's place included, does not reach into an earlier request."""
    history = History("a")
    history.extend([user("Hi"), calls("a", call("c1", "t")), said("a", "Wait")])
    before = history.contents()
    told = list(before)
    history.extend([responds("a", response("c1", "t", r=1))])
    assert history.contents() != told
    assert list(before) == told
