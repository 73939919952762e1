"""The conversation of a request: like a list, and never another's."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import pytest

from rxagent.events import Content
from rxagent.models import Contents, LlmRequest

WORDS = [Content.user(letter) for letter in "abcdef"]
X, Y = Content.user("x"), Content.model("y")

Change = Callable[[Any], object]
CHANGES: dict[str, Change] = {
    "append": lambda one: one.append(X),
    "extend": lambda one: one.extend([X, Y]),
    "+=": lambda one: one.__iadd__([X, Y]),
    "insert": lambda one: one.insert(1, X),
    "insert from the end": lambda one: one.insert(-1, X),
    "set": lambda one: one.__setitem__(0, X),
    "set a slice": lambda one: one.__setitem__(slice(1, 3), [X]),
    "delete": lambda one: one.__delitem__(-1),
    "delete a slice": lambda one: one.__delitem__(slice(None, None, 2)),
    "pop": lambda one: one.pop(),
    "remove": lambda one: one.remove(WORDS[2]),
    "reverse": lambda one: one.reverse(),
    "clear": lambda one: one.clear(),
}
LOOKS: dict[str, Callable[[Any], object]] = {
    "len": len,
    "first": lambda one: one[0],
    "last": lambda one: one[-1],
    "slice": lambda one: one[1:3],
    "step": lambda one: one[::-2],
    "beyond": lambda one: one[2:99],
    "list": list,
    "reversed": lambda one: list(reversed(one)),
    "in": lambda one: (WORDS[1] in one, WORDS[5] in one),
    "index": lambda one: one.index(WORDS[3]),
    "count": lambda one: one.count(WORDS[0]),
    "+": lambda one: operator.add(one, [X]),
    "+ from the left": lambda one: operator.add([X], one),
    "repr": repr,
    "true": bool,
}


def shared(length: int = 4) -> tuple[list[Content], Contents]:
    growing = list(WORDS)
    return growing, Contents.of(growing, length)


@pytest.mark.parametrize("name", LOOKS)
def test_it_looks_like_a_list(name: str) -> None:
    """Shared or not, each look finds what it would find in a list of these items."""
    _, contents = shared()
    assert LOOKS[name](contents) == LOOKS[name](WORDS[:4])
    assert LOOKS[name](Contents(WORDS[:4])) == LOOKS[name](WORDS[:4])


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_stays_its_own(name: str) -> None:
    """Each change does what it does to a list, and reaches neither the growing list nor another request."""
    growing, contents = shared()
    other = Contents.of(growing, 5)
    wanted = WORDS[:4]
    CHANGES[name](contents)
    CHANGES[name](wanted)
    assert contents == wanted
    assert len(contents) == len(wanted)
    assert growing == WORDS
    assert other == WORDS[:5]


def test_any_changes_in_a_row() -> None:
    """A hundred rows of random changes end as in a list, while the shared list grows on."""
    random_one = random.Random(7)
    for _ in range(100):
        growing, contents = shared()
        wanted = WORDS[:4]
        for _ in range(6):
            change = random_one.choice([CHANGES[name] for name in ("append", "extend", "+=", "set a slice", "reverse")])
            change(contents)
            change(wanted)
            growing.append(Y)
            assert list(contents) == wanted


@pytest.mark.parametrize("index", [4, -5])
def test_an_item_that_is_not_there(index: int) -> None:
    """What lies behind the shared part is not seen."""
    with pytest.raises(IndexError):
        shared()[1][index]


def test_equality() -> None:
    """It equals a list or contents of equal items, and nothing else."""
    _, contents = shared()
    assert contents == [Content.user(letter) for letter in "abcd"]
    assert contents == Contents(WORDS[:4])
    assert contents != WORDS
    assert contents != [*WORDS[:3], X]
    assert contents != tuple(WORDS[:4])


def test_a_copy_is_its_own() -> None:
    """Contents that are made of contents, shared or not, do not change with them."""
    for original in (shared()[1], Contents(WORDS[:4])):
        copy = Contents(original)
        original.append(X)
        assert copy == WORDS[:4]
        copy.append(Y)
        assert original == [*WORDS[:4], X]


def test_what_is_set_is_copied() -> None:
    """A list, or another request's contents, that is given to a request stays its giver's."""
    mine = [WORDS[0]]
    request = LlmRequest(mine)
    request.contents += [X]
    assert mine == [WORDS[0]]
    request.contents = mine
    request.contents.append(Y)
    assert mine == [WORDS[0]]
    assert request.contents == [WORDS[0], Y]
    other = LlmRequest()
    other.contents = request.contents
    other.contents.clear()
    assert request.contents == [WORDS[0], Y]
