"""simplified: JSON schemas as servers read them."""

from __future__ import annotations

from pydantic import BaseModel, TypeAdapter

from rxagent.tools.json_schema import simplified


class Titled(BaseModel):
    title: str
    const: int | None = None


class Leaf(BaseModel):
    """A leaf."""

    value: int


class Twice(BaseModel):
    left: Leaf
    right: Leaf


class Tree(BaseModel):
    leaf: Leaf
    kids: list[Tree] = []


class Ping(BaseModel):
    pong: Pong | None = None


class Pong(BaseModel):
    ping: Ping | None = None


def test_titles_go_and_properties_stay() -> None:
    """The keyword "title" goes, a property of that name (or another keyword's) stays."""
    assert simplified(Titled.model_json_schema()) == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "const": {"type": "integer"}},
        "required": ["title"],
    }


def test_references_are_inlined() -> None:
    """A type used twice stands in both places, and there are no $defs."""
    leaf = {
        "type": "object",
        "description": "A leaf.",
        "properties": {"value": {"type": "integer"}},
        "required": ["value"],
    }
    assert simplified(Twice.model_json_schema()) == {
        "type": "object",
        "properties": {"left": leaf, "right": leaf},
        "required": ["left", "right"],
    }


def test_recursive_types_stay_references() -> None:
    """A type that contains itself stays in $defs, once; what it contains else is inlined there."""
    schema = simplified(TypeAdapter(list[Tree]).json_schema())
    assert schema["items"] == {"$ref": "#/$defs/Tree"}
    assert list(schema["$defs"]) == ["Tree"]
    properties = schema["$defs"]["Tree"]["properties"]
    assert properties["kids"]["items"] == {"$ref": "#/$defs/Tree"}
    assert properties["leaf"]["properties"] == {"value": {"type": "integer"}}


def test_mutual_recursion() -> None:
    """Types that contain each other all stay, and every reference has its definition."""
    schema = simplified(TypeAdapter(list[Ping]).json_schema())
    assert set(schema["$defs"]) == {"Ping", "Pong"}
    assert schema["$defs"]["Ping"]["properties"]["pong"] == {"$ref": "#/$defs/Pong"}


def test_const_is_an_enum_of_one() -> None:
    """`const` becomes an `enum`, which more servers know."""
    assert simplified({"const": "x", "type": "string"}) == {"enum": ["x"], "type": "string"}


def test_values_are_not_taken_for_schemas() -> None:
    """A default or an enum that looks like a schema is left alone."""
    schema = {"type": "object", "default": {"title": "a", "$ref": "b"}, "enum": [{"title": "a"}]}
    assert simplified(schema) == schema


def test_null_by_default() -> None:
    """A property that is null by default is shown without null; other defaults and unions stay."""
    either = [{"type": "string"}, {"type": "integer"}]
    null = {"type": "null"}
    schema = {
        "properties": {
            "one": {"anyOf": [{"type": "string"}, null], "default": None, "description": "One."},
            "two": {"anyOf": [*either, null], "default": None},
            "any": {"default": None},
            "needed": {"anyOf": [{"type": "string"}, null]},
            "zero": {"type": "integer", "default": 0},
        }
    }
    assert simplified(schema)["properties"] == {
        "one": {"type": "string", "description": "One."},
        "two": {"anyOf": either},
        "any": {},
        "needed": {"anyOf": [{"type": "string"}, null]},
        "zero": {"type": "integer", "default": 0},
    }


def test_the_source_is_not_changed() -> None:
    """The schema given is left as it is."""
    schema = Tree.model_json_schema()
    before = repr(schema)
    simplified(schema)
    assert repr(schema) == before
