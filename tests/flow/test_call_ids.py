"""Ids of calls, as one answer gives them."""

from __future__ import annotations

import pytest

from rxagent.events import Content, Part
from rxagent.flow.call_ids import CallIds
from tests.history.logs import call


def ids(answer: CallIds, *given: str | None, partial: bool = False) -> list[str | None]:
    """The ids that calls with these given ids get, in one response."""
    parts = (Part(text="so"), *(call(id) for id in given))
    content = answer.assigned(Content(role="model", parts=parts), partial=partial)
    return [part.function_call.id for part in content.parts or () if part.function_call is not None]


def fresh(id: str | None) -> bool:
    return id is not None and id.startswith("adk-")


def test_good_ids_stay() -> None:
    """An id that nothing else has is kept, and the content with it."""
    content = Content(role="model", parts=(call("a"), call("b")))
    assert CallIds({"c"}).assigned(content) == content


@pytest.mark.promise("J21")
@pytest.mark.parametrize("given", [None, "", "taken"])
def test_bad_ids_are_replaced(given: str | None) -> None:
    """A missing, an empty and a taken id are replaced, each by one of its own."""
    one, two = ids(CallIds({"taken"}), given, given)
    assert fresh(one)
    assert fresh(two)
    assert one != two


@pytest.mark.promise("J21")
def test_repeated_in_a_response() -> None:
    """Of calls with one id in one response the first keeps it."""
    one, two, three = ids(CallIds(set()), "x", "x", "y")
    assert (one, fresh(two), three) == ("x", True, "y")


@pytest.mark.promise("J21")
@pytest.mark.parametrize("given", [None, "", "taken", "new"])
def test_kept_through_partials(given: str | None) -> None:
    """A call that is assembled in partial responses keeps one id up to the final one."""
    answer = CallIds({"taken"})
    (first,) = ids(answer, given, partial=True)
    assert ids(answer, given, partial=True) == [first]
    assert ids(answer, given) == [first]


@pytest.mark.promise("J21")
def test_two_calls_kept_through_partials() -> None:
    """Calls that come in partial responses of their own are found again in the whole, also when they are repeated."""
    answer = CallIds({"call_0", "call_1"})
    (one,) = ids(answer, "call_0", partial=True)
    (two,) = ids(answer, "call_1", partial=True)
    assert ids(answer, "call_0", "call_1") == [one, two]
    answer = CallIds({"x"})
    both = ids(answer, "x", "x", partial=True)
    assert ids(answer, "x", "x") == both
    assert len(set(both)) == 2


@pytest.mark.promise("J21")
def test_named_late() -> None:
    """A call that the server names in a later part of the answer keeps the id that it was shown with."""
    answer = CallIds(set())
    (shown,) = ids(answer, "", partial=True)
    assert ids(answer, "x") == [shown]


@pytest.mark.promise("J21")
@pytest.mark.parametrize("given", [None, "call_0"])
def test_two_final_responses(given: str | None) -> None:
    """A final response ends the assembly: the calls of the next one are others, whatever their ids say."""
    answer = CallIds(set())
    (one,) = ids(answer, given)
    (two,) = ids(answer, given)
    assert one != two
    assert fresh(two)
