"""to_result: what a tool returns, as a JSON object."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel

from rxagent.tools import error_result, internal_error_result, to_result


@dataclass
class Point:
    x: int
    day: date


class Order(BaseModel):
    number: int
    lines: list[str] = []


class Unit(Enum):
    C = "celsius"


class Pair(NamedTuple):
    a: int
    b: int


class Thing:
    def __str__(self) -> str:
        return "a thing"


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (None, {}),
        ({}, {}),
        ({"a": 1}, {"a": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (MappingProxyType({"a": MappingProxyType({"b": 2})}), {"a": {"b": 2}}),
        ({1: {2}, "day": date(2025, 1, 2)}, {"1": [2], "day": "2025-01-02"}),
        (Point(1, date(2025, 1, 2)), {"x": 1, "day": "2025-01-02"}),
        (Order(number=7), {"number": 7, "lines": []}),
        (RootModel[list[int]]([1]), {"result": [1]}),
        ("text", {"result": "text"}),
        ("", {"result": ""}),
        (0, {"result": 0}),
        (False, {"result": False}),
        (["x", "y"], {"result": ["x", "y"]}),
        ((1, 2), {"result": [1, 2]}),
        (Pair(1, 2), {"result": [1, 2]}),
        (Unit.C, {"result": "celsius"}),
        (b"bytes", {"result": "bytes"}),
        (Thing(), {"result": "a thing"}),
        ([1, Thing()], {"result": [1, "a thing"]}),
        (LOOP, {"result": "[[...]]"}),
        (b"\xff", {"result": "b'\\xff'"}),
    ],
)
def test_shapes(value: object, result: Mapping[str, object]) -> None:
    """None is {}, an object stays one, all else stands under "result", and what has no JSON form is its str."""
    assert to_result(value) == result
    json.dumps(to_result(value))


def test_a_result_is_a_copy() -> None:
    """What the tool changes in its dict later does not reach the result."""
    value = {"rows": [1]}
    result = to_result(value)
    value["rows"].append(2)
    assert result == {"rows": [1]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_json_objects_pass_as_they_are(value: dict[str, object]) -> None:
    """Every JSON object is its own result."""
    assert to_result(value) == value


@given(JSON.filter(lambda value: value is not None and not isinstance(value, dict)))
def test_other_json_is_wrapped(value: object) -> None:
    """Every other JSON value but null is wrapped, unchanged."""
    assert to_result(value) == {"result": value}


def test_error_results() -> None:
    """Error results have ADK's shape, and the internal one ADK's words."""
    assert error_result("no such city") == {"status": "error", "message": "no such city"}
    assert internal_error_result() == {"status": "error", "message": "An internal error occurred."}
