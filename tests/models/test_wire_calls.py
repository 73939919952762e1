"""Call fragments in all the forms that servers send: which calls were meant, and which must not run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rxagent.errors import ModelProtocolError

from .wire_words import DONE, called, calls, chunk, fragment, run

Expected = list[tuple[str | None, str, Any]]

WHOLE = '{"x":1}'
OTHER = '{"x":2}'
X1: dict[str, Any] = {"x": 1}
X2: dict[str, Any] = {"x": 2}

NO_INDEX: list[tuple[str, list[Any], Expected]] = [
    (
        "whole, two chunks",
        [calls(fragment(None, "a", "f", WHOLE)), calls(fragment(None, "b", "g", OTHER))],
        [("a", "f", X1), ("b", "g", X2)],
    ),
    (
        "whole, one chunk",
        [calls(fragment(None, "a", "f", WHOLE), fragment(None, "b", "f", OTHER))],
        [("a", "f", X1), ("b", "f", X2)],
    ),
    (
        "neither index nor id, twice the same",
        [calls(fragment(name="f", args=WHOLE), fragment(name="f", args=WHOLE))],
        [(None, "f", X1), (None, "f", X1)],
    ),
    (
        "neither index nor id, other names",
        [calls(fragment(name="f")), calls(fragment(name="g"))],
        [(None, "f", {}), (None, "g", {})],
    ),
    (
        "fragments by id, interleaved",
        [
            calls(fragment(None, "a", "f", '{"x"')),
            calls(fragment(None, "b", "g", '{"x"')),
            calls(fragment(None, "a", args=":1}")),
            calls(fragment(None, "b", args=":2}")),
        ],
        [("a", "f", X1), ("b", "g", X2)],
    ),
]

INDEX_NULL: list[tuple[str, list[Any], Expected]] = [
    (
        "goes on with the last",
        [calls({"index": None, **fragment(None, "a", "f", '{"x"')}), calls({"index": None, **fragment(args=":1}")})],
        [("a", "f", X1)],
    ),
    (
        "first a number, then null",
        [calls(fragment(0, "a", "f", '{"x"')), calls({"index": None, **fragment(args=":1}")})],
        [("a", "f", X1)],
    ),
    (
        "null, then a number",
        [calls({"index": None, **fragment(None, "a", "f", '{"x"')}), calls(fragment(0, args=":1}"))],
        [("a", "f", X1)],
    ),
    (
        "two calls, ids tell",
        [
            calls({"index": None, **fragment(None, "a", "f", WHOLE)}),
            calls({"index": None, **fragment(None, "b", "f", WHOLE)}),
        ],
        [("a", "f", X1), ("b", "f", X1)],
    ),
    (
        "as text",
        [calls(fragment("0", "a", "f", '{"x"'), fragment("1", "b", "g", "{}")), calls(fragment("0", args=":1}"))],
        [("a", "f", X1), ("b", "g", {})],
    ),
]

LATE_NAME: list[tuple[str, list[Any], Expected]] = [
    (
        "by id",
        [
            calls(fragment(None, "a", args='{"x":')),
            calls(fragment(None, "a", "f")),
            calls(fragment(None, "a", args="1}")),
        ],
        [("a", "f", X1)],
    ),
    (
        "by index",
        [calls(fragment(0, args='{"x"')), calls(fragment(0, args=":1}")), calls(fragment(0, "a", "f"))],
        [("a", "f", X1)],
    ),
    ("empty at first", [calls(fragment(0, "a", "", "")), calls(fragment(0, "a", "f", WHOLE))], [("a", "f", X1)]),
    (
        "with the finish",
        [calls(fragment(0, "a", args=WHOLE)), calls(fragment(0, name="f"), finish="tool_calls")],
        [("a", "f", X1)],
    ),
]

ONE_INDEX_IN_ONE_CHUNK: list[tuple[str, list[Any], Expected]] = [
    (
        "halves",
        [calls(fragment(0, "a", "f", '{"x":'), fragment(0, args="1")), calls(fragment(0, args="}"))],
        [("a", "f", X1)],
    ),
    (
        "all of it in three",
        [calls(fragment(0, "a", "f"), fragment(0, args='{"x":'), fragment(0, args="1}"))],
        [("a", "f", X1)],
    ),
    (
        "of two calls",
        [
            calls(
                fragment(0, "a", "f", "{"),
                fragment(0, args='"x":1}'),
                fragment(1, "b", "g", "{"),
                fragment(1, args="}"),
            )
        ],
        [("a", "f", X1), ("b", "g", {})],
    ),
    (
        "whole parallel calls",
        [calls(fragment(0, "a", "f", WHOLE), fragment(0, "b", "f", OTHER))],
        [("a", "f", X1), ("b", "f", X2)],
    ),
    (
        "whole parallel calls without ids",
        [calls(fragment(0, name="f", args=WHOLE), fragment(0, name="f", args=OTHER))],
        [(None, "f", X1), (None, "f", X2)],
    ),
    (
        "whole parallel calls, three chunks",
        [calls(fragment(0, id, "f", text)) for id, text in (("a", WHOLE), ("b", OTHER), ("c", WHOLE))],
        [("a", "f", X1), ("b", "f", X2), ("c", "f", X1)],
    ),
    (
        "whole parallel objects",
        [calls(fragment(0, "a", "f", X1)), calls(fragment(0, "b", "f", X2))],
        [("a", "f", X1), ("b", "f", X2)],
    ),
]

REPEATED: list[tuple[str, list[Any], Expected]] = [
    (
        "blanks after the end",
        [calls(fragment(0, "c", "f", WHOLE)), calls(fragment(0, "c", "f", "\n")), calls(fragment(None, "c", "f", " "))],
        [("c", "f", X1)],
    ),
    (
        "id and name each time",
        [calls(fragment(0, "c", "f", piece)) for piece in ("{", '"x"', ":", "1", "}")],
        [("c", "f", X1)],
    ),
    (
        "id inside of function",
        [
            calls({"index": 0, "function": {"id": "c", "name": "f", "arguments": "{"}}),
            calls(fragment(0, None, "f", "}")),
        ],
        [("c", "f", {})],
    ),
    ("name alone", [calls(fragment(0, None, "f", piece)) for piece in ("", "{", '"x":1', "}")], [(None, "f", X1)]),
    (
        "all of it once more",
        [
            calls(fragment(0, "c", "f", '{"x"')),
            calls(fragment(0, "c", "f", ":1}")),
            calls(fragment(0, "c", "f", WHOLE)),
        ],
        [("c", "f", X1)],
    ),
    ("without index", [calls(fragment(None, "c", "f", piece)) for piece in ("{", '"x":1', "}")], [("c", "f", X1)]),
    (
        "an empty last one",
        [calls(fragment(0, "c", "f", WHOLE)), calls(fragment(0, "c", "f", "")), calls(fragment(0, "", "", None))],
        [("c", "f", X1)],
    ),
    (
        "a flat entry",
        [calls({"index": 0, "id": "c", "name": "f", "arguments": "{"}), calls({"index": 0, "arguments": "}"})],
        [("c", "f", {})],
    ),
]

OBJECTS: list[tuple[str, list[Any], Expected]] = [
    ("once", [calls(fragment(0, "a", "f", X1))], [("a", "f", X1)]),
    ("twice", [calls(fragment(0, "a", "f", X1))] * 2, [("a", "f", X1)]),
    ("empty, then as text", [calls(fragment(0, "a", "f", "")), calls(fragment(0, "a", args={}))], [("a", "f", {})]),
    (
        "without index and id",
        [calls(fragment(name="f", args=X1)), calls(fragment(name="g", args=X2))],
        [(None, "f", X1), (None, "g", X2)],
    ),
    ("one entry, no list", [chunk({"tool_calls": fragment(0, "a", "f", X1)})], [("a", "f", X1)]),
    ("text in text", [calls(fragment(0, "a", "f", json.dumps(WHOLE)))], [("a", "f", X1)]),
]


def without_arguments(args: object) -> list[Any]:
    return [calls({"index": 0, "id": "a", "function": {"name": "f", "arguments": args}})]


NO_ARGUMENTS: list[Any] = [None, "", " ", "null", "{}", {}, "[]", []]
NOTHING: list[tuple[str, list[Any], Expected]] = [
    ("arguments absent", [calls(fragment(0, "a", "f"))], [("a", "f", {})])
]
NOTHING += [(f"arguments {args!r}", without_arguments(args), [("a", "f", {})]) for args in NO_ARGUMENTS]

FRESH: list[tuple[str, list[Any], Expected]] = [
    (
        "an id for each fragment, an escaped quote and brackets in a text",
        [
            calls(fragment(None, "a", "f", '{"x":"\\\\\\"}')),
            calls(fragment(None, "b", args="]\\")),
            calls(fragment(None, "c", args='""}')),
        ],
        [("a", "f", {"x": '\\"}]"'})],
    ),
    (
        "a new id, whole arguments, after a call without any",
        [calls(fragment(0, "a", "f", "")), calls(fragment(0, "b", "f", WHOLE))],
        [("a", "f", {}), ("b", "f", X1)],
    ),
    (
        "an id for each fragment",
        [calls(fragment(0, "a", "f")), calls(fragment(0, "b", args='{"x":')), calls(fragment(0, "c", args="1}"))],
        [("a", "f", X1)],
    ),
    (
        "an id for each fragment, no index",
        [
            calls(fragment(None, "a", "f", '{"x"')),
            calls(fragment(None, "b", args=":1")),
            calls(fragment(None, "c", args="}")),
        ],
        [("a", "f", X1)],
    ),
    (
        "an id for each fragment, with name",
        [calls(fragment(0, "a", "f", '{"x"')), calls(fragment(0, "b", "f", ":1")), calls(fragment(0, "c", "f", "}"))],
        [("a", "f", X1)],
    ),
    (
        "an index for each fragment",
        [calls(fragment(0, "a", "f", '{"x"')), calls(fragment(1, args=":1")), calls(fragment(2, args="}"))],
        [("a", "f", X1)],
    ),
    (
        "an index for each fragment, id repeated",
        [calls(fragment(0, "a", "f", '{"x"')), calls(fragment(1, "a", args=":1")), calls(fragment(2, "a", "f", "}"))],
        [("a", "f", X1)],
    ),
    (
        "a new id, a new name, whole",
        [calls(fragment(0, "a", "f", WHOLE)), calls(fragment(0, "b", "g", OTHER))],
        [("a", "f", X1), ("b", "g", X2)],
    ),
]

SAME_ID: list[tuple[str, list[Any], Expected]] = [
    (
        "two indexes",
        [calls(fragment(0, "grep:3", "f", WHOLE)), calls(fragment(1, "grep:3", "f", OTHER))],
        [("grep:3", "f", X1), (None, "f", X2)],
    ),
    (
        "no index",
        [calls(fragment(None, "grep:3", "f", WHOLE)), calls(fragment(None, "grep:3", "f", OTHER))],
        [("grep:3", "f", X1), (None, "f", X2)],
    ),
    (
        "one chunk, other names",
        [calls(fragment(None, "0", "f", WHOLE), fragment(None, "0", "g", WHOLE))],
        [("0", "f", X1), (None, "g", X1)],
    ),
    (
        "interleaved",
        [
            calls(fragment(0, "c", "f")),
            calls(fragment(1, "c", "f")),
            calls(fragment(1, args=OTHER)),
            calls(fragment(0, args=WHOLE)),
        ],
        [("c", "f", X1), (None, "f", X2)],
    ),
    (
        "a number",
        [calls(fragment(0, 7, "f", WHOLE)), calls(fragment(1, 7, "f", OTHER))],
        [("7", "f", X1), (None, "f", X2)],
    ),
]

OLD_FORM: list[tuple[str, list[Any], Expected]] = [
    (
        "function_call",
        [chunk({"function_call": {"name": "f", "arguments": '{"x":'}}), chunk({"function_call": {"arguments": "1}"}})],
        [(None, "f", X1)],
    ),
]

ALL = [
    pytest.param(payloads, expected, id=f"{kind}: {name}")
    for kind, table in (
        ("no index", NO_INDEX),
        ("index null", INDEX_NULL),
        ("late name", LATE_NAME),
        ("one index in one chunk", ONE_INDEX_IN_ONE_CHUNK),
        ("repeated", REPEATED),
        ("objects", OBJECTS),
        ("no arguments", NOTHING),
        ("fresh", FRESH),
        ("same id", SAME_ID),
        ("old form", OLD_FORM),
    )
    for name, payloads, expected in table
]


@pytest.mark.parametrize(("payloads", "expected"), ALL)
@pytest.mark.parametrize("finish", ["tool_calls", "stop", "what_is_this"])
def test_the_calls_that_were_meant(payloads: list[Any], expected: Expected, finish: str) -> None:
    """Whatever the indexes, ids, names, arguments and the finish look like, the calls that were meant come out."""
    found = called(*payloads, chunk({}, finish), DONE)
    assert [(name, args) for _, name, args in found] == [(name, args) for _, name, args in expected]
    assert all(want is None or want == got for (got, *_), (want, *_) in zip(found, expected, strict=True))
    assert len({call_id for call_id, *_ in found}) == len(found)
    assert all(call_id for call_id, *_ in found)


def test_a_call_without_a_name() -> None:
    """A call whose name never comes is a protocol error; an entry that says nothing at all is no call."""
    with pytest.raises(ModelProtocolError, match="without a name"):
        run(calls(fragment(0, "a", None, "{}"), finish="stop"))
    with pytest.raises(ModelProtocolError, match="without a name"):
        run(calls({"id": "a", "type": "custom", "custom": {"name": "f", "input": "x"}}, finish="stop"))
    assert run(calls({}, None, 3, {"index": 0, "function": None}), chunk({"content": "a"}, "stop"))[-1].text == "a"


def test_a_repeated_conversation_of_calls() -> None:
    """An answer's ids are judged on their own: the same ones in a later answer are its own."""
    first, second = (called(calls(fragment(0, "call_0", "f", WHOLE)), chunk({}, "stop")) for _ in range(2))
    assert first == second == [("call_0", "f", X1)]
