"""Arguments: schemas from hints, and values from a model's arguments."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from rxagent.errors import ConfigError
from rxagent.tools.binding import REQUIRED, Parameter
from rxagent.tools.schema import Arguments, BindError


class Unit(Enum):
    C = "celsius"
    F = "fahrenheit"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int
    y: float = 1.5
    tags: list[str] = field(default_factory=list)


class Address(TypedDict):
    street: str
    zip: NotRequired[str]


class OldAddress(typing.TypedDict):
    a: str


class Line(BaseModel):
    """One line of an order."""

    item: str = Field(description="What.")
    count: int = Field(default=1, ge=1)
    note: str | None = None


class Order(BaseModel):
    lines: list[Line]


class Node(BaseModel):
    kids: list[Node] = []


class Pair(NamedTuple):
    a: int
    b: str


class Opaque: ...


@dataclass
class Holder:
    opaque: Opaque


LINE = {
    "type": "object",
    "description": "One line of an order.",
    "properties": {
        "item": {"type": "string", "description": "What."},
        "count": {"type": "integer", "default": 1, "minimum": 1},
        "note": {"type": "string"},
    },
    "required": ["item"],
}
POINT = {
    "type": "object",
    "properties": {
        "x": {"type": "integer"},
        "y": {"type": "number", "default": 1.5},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["x"],
}
NULL = {"type": "null"}


def arguments(hint: Any, default: object = REQUIRED) -> Arguments:
    return Arguments([Parameter("p", hint, default)], "t")


def schema_of(hint: Any, default: object = REQUIRED, description: str | None = None) -> dict[str, Any]:
    schema = arguments(hint, default).json_schema({"p": description} if description else {})
    assert schema["type"] == "object"
    assert schema.get("required", []) == (["p"] if default is REQUIRED else [])
    shown = schema["properties"]["p"]
    assert isinstance(shown, dict)
    return shown


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (type(None), NULL),
        (Any, {}),
        (object, {}),
        (int | None, {"anyOf": [{"type": "integer"}, NULL]}),
        (Optional[int], {"anyOf": [{"type": "integer"}, NULL]}),  # noqa: UP045 - another type before Python 3.14
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}, NULL]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a"], {"type": "string", "enum": ["a"]}),
        (Literal[1, "a"], {"enum": [1, "a"]}),
        (Unit, {"type": "string", "enum": ["celsius", "fahrenheit"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (list, {"type": "array", "items": {}}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (frozenset[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (
            tuple[int, str],
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        (dict, {"type": "object", "additionalProperties": True}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (
            dict[str, list[Unit]],
            {
                "type": "object",
                "additionalProperties": {
                    "type": "array",
                    "items": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                },
            },
        ),
        (
            Address,
            {
                "type": "object",
                "properties": {"street": {"type": "string"}, "zip": {"type": "string"}},
                "required": ["street"],
            },
        ),
        (Point, POINT),
        (Line, LINE),
        (
            Order,
            {"type": "object", "properties": {"lines": {"type": "array", "items": LINE}}, "required": ["lines"]},
        ),
        (Line | None, {"anyOf": [LINE, NULL]}),
        (date, {"type": "string", "format": "date"}),
        (UUID, {"type": "string", "format": "uuid"}),
        (Annotated[str, "A city."], {"type": "string", "description": "A city."}),
        (Annotated[str, Field(description="A city.")], {"type": "string", "description": "A city."}),
        (
            Annotated[int, Field(ge=0), "Zero or more."],
            {"type": "integer", "minimum": 0, "description": "Zero or more."},
        ),
        (Annotated[Line, "The line."], {**LINE, "description": "The line."}),
    ],
    ids=str,
)
def test_schemas(hint: Any, schema: dict[str, Any]) -> None:
    """Each kind of hint has its schema, without titles and references."""
    assert schema_of(hint) == schema


def test_recursive_model() -> None:
    """A model that contains itself keeps its definition."""
    schema = arguments(Node).json_schema({})
    assert schema["properties"]["p"] == {"$ref": "#/$defs/Node"}
    assert set(schema["$defs"]) == {"Node"}


@pytest.mark.parametrize(
    ("hint", "default", "schema"),
    [
        (int, 3, {"type": "integer", "default": 3}),
        (Literal["C", "F"], "C", {"type": "string", "enum": ["C", "F"], "default": "C"}),
        (Unit, Unit.C, {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"}),
        (int | None, None, {"type": "integer"}),
        (int | None, 3, {"anyOf": [{"type": "integer"}, NULL], "default": 3}),
        (list[int], (), {"type": "array", "items": {"type": "integer"}, "default": []}),
        (Point, Point(1), {**POINT, "default": {"x": 1, "y": 1.5, "tags": []}}),
        (Any, Opaque(), {}),
    ],
    ids=str,
)
def test_defaults(hint: Any, default: object, schema: dict[str, Any]) -> None:
    """A parameter with a default is not required, and a default that JSON can say stands in the schema."""
    assert schema_of(hint, default) == schema


def test_descriptions() -> None:
    """A hint's own description comes before the docstring's, which comes before none."""
    assert schema_of(str, description="Documented.")["description"] == "Documented."
    assert schema_of(Annotated[str, "Own."], description="Documented.")["description"] == "Own."
    assert schema_of(Annotated[str, Field(description="Own.")], description="No.")["description"] == "Own."
    assert schema_of(Annotated[int, Field(ge=0)], 1, "Documented.") == {
        "type": "integer",
        "minimum": 0,
        "default": 1,
        "description": "Documented.",
    }


def test_no_parameters() -> None:
    """A function without parameters takes an empty object, and any arguments are ignored."""
    nothing = Arguments([], "t")
    assert nothing.json_schema({}) == {"type": "object", "properties": {}}
    assert nothing.bind({"x": 1}) == {}


def test_required_and_order() -> None:
    """Properties and required names stand in the order of the signature."""
    several = Arguments([Parameter("b", int, REQUIRED), Parameter("c", int, 1), Parameter("a", str, REQUIRED)], "t")
    schema = several.json_schema({})
    assert list(schema["properties"]) == ["b", "c", "a"]
    assert schema["required"] == ["b", "a"]


@pytest.mark.parametrize(
    ("hint", "given_value", "value"),
    [
        (int, "3", 3),
        (int, 2.0, 2),
        (float, 1, 1.0),
        (str, 5, "5"),
        (bool, "true", True),
        (Unit, "celsius", Unit.C),
        (Level, 2, Level.HIGH),
        (set[int], [1, 1], {1}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (date, "2025-01-02", date(2025, 1, 2)),
        (Point, {"x": "1"}, Point(1)),
        (Pair, [1, "b"], Pair(1, "b")),
        (list[Line], [{"item": "a"}], [Line(item="a")]),
        (Order, {"lines": [{"item": "a", "count": 2}]}, Order(lines=[Line(item="a", count=2)])),
        (int | str, "3", "3"),
        (int | None, None, None),
        (Any, {"x": 1}, {"x": 1}),
    ],
    ids=str,
)
def test_values(hint: Any, given_value: object, value: object) -> None:
    """JSON values become what the hint says, leniently."""
    bound = arguments(hint).bind({"p": given_value})["p"]
    assert bound == value
    assert type(bound) is type(value)


def test_extra_and_absent() -> None:
    """Extra arguments are ignored; what has a default may be left out and is then absent."""
    assert arguments(int, 3).bind({"other": 1}) == {}


@pytest.mark.parametrize(
    ("hint", "args", "words"),
    [
        (int, {}, "The argument 'p' is missing."),
        (int, {"p": "x"}, "The argument 'p' is wrong: Input should be a valid integer"),
        (int, {"p": None}, "The argument 'p' is wrong: Input should be a valid integer"),
        (Literal["C", "F"], {"p": "K"}, "The argument 'p' is wrong: Input should be 'C' or 'F'."),
        (Order, {"p": {"lines": [{"item": "a"}, {}]}}, "The argument 'p.lines.1.item' is missing."),
        (
            Annotated[int, Field(ge=0)],
            {"p": -1},
            "The argument 'p' is wrong: Input should be greater than",
        ),
    ],
    ids=str,
)
def test_what_does_not_bind(hint: Any, args: dict[str, Any], words: str) -> None:
    """The message for the model names the parameter, says what is wrong, and does not repeat the value."""
    with pytest.raises(BindError) as caught:
        arguments(hint).bind(args)
    assert words in str(caught.value)
    assert "input_value" not in str(caught.value)
    assert "http" not in str(caught.value)


def test_every_wrong_argument_is_named() -> None:
    """Two wrong arguments are told in one message."""
    with pytest.raises(BindError, match=r"'a' is missing.*'b' is wrong"):
        Arguments([Parameter("a", int, REQUIRED), Parameter("b", int, 1)], "t").bind({"b": "x"})


@pytest.mark.parametrize(
    "hint",
    [Opaque, list[Opaque], Holder, Callable[[int], int], Annotated[Opaque, "Opaque."], Opaque | None],
    ids=str,
)
def test_hints_without_schema(hint: Any) -> None:
    """A hint that has no schema is a ConfigError at construction that names the parameter and the type."""
    with pytest.raises(ConfigError, match=r"parameter 'p' of the tool 't': .* has no JSON schema") as caught:
        Arguments([Parameter("fine", int, REQUIRED), Parameter("p", hint, REQUIRED)], "t")
    assert repr(hint) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_typed_dict_of_typing() -> None:
    """typing.TypedDict works from Python 3.12 on; before, the ConfigError says which one to use."""
    if sys.version_info >= (3, 12):
        assert schema_of(OldAddress)["required"] == ["a"]
    else:
        with pytest.raises(ConfigError, match=r"typing_extensions\.TypedDict"):
            arguments(OldAddress)


@given(
    st.fixed_dictionaries(
        {"a": st.integers(), "b": st.text(), "c": st.lists(st.booleans())},
        optional={"d": st.none() | st.floats(allow_nan=False), "extra": st.integers()},
    )
)
def test_right_values_pass_unchanged(args: dict[str, Any]) -> None:
    """Arguments that fit the schema reach the function as they are, and nothing else does."""
    several = Arguments(
        [
            Parameter("a", int, REQUIRED),
            Parameter("b", str, REQUIRED),
            Parameter("c", list[bool], REQUIRED),
            Parameter("d", float | None, None),
        ],
        "t",
    )
    assert several.bind(args) == {name: value for name, value in args.items() if name != "extra"}
