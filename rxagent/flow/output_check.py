"""Does a JSON value fit a JSON schema? The part of JSON Schema that models are given, with ADK's strictness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["mismatch"]

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def mismatch(value: Any, schema: Mapping[str, Any], *, root: Mapping[str, Any] | None = None, at: str = "") -> str:
    """What does not fit, in words; empty when all does.

    Read are type, enum, const, properties, required, additionalProperties, items, anyOf, oneOf, allOf, nullable and
    $ref within the schema; other keywords are not. An object with properties takes no others, unless
    additionalProperties says so (ADK Java, SchemaUtils).
    """
    root = schema if root is None else root
    return next(_mismatches(value, schema, root, at or "the value"), "")


def _mismatches(value: Any, schema: Any, root: Mapping[str, Any], at: str) -> Iterator[str]:
    if not isinstance(schema, Mapping):  # `true` fits all
        return
    if "$ref" in schema:
        yield from _mismatches(value, _resolved(schema["$ref"], root), root, at)
    if value is None and schema.get("nullable"):
        return
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{at} is not of type {' or '.join(kinds)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at} is none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{at} is not {schema['const']!r}"
    for one in schema.get("allOf", ()):
        yield from _mismatches(value, one, root, at)
    for choice in (schema.get("anyOf"), schema.get("oneOf")):
        if choice and all(any(_mismatches(value, one, root, at)) for one in choice):
            yield f"{at} fits none of the alternatives"
    if isinstance(value, dict):
        yield from _in_object(value, schema, root, at)
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from _mismatches(item, schema["items"], root, f"{at}[{index}]")


def _in_object(value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], at: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at} lacks {name!r}"
    others = schema.get("additionalProperties", not properties)
    for name, item in value.items():
        if name in properties:
            yield from _mismatches(item, properties[name], root, f"{at}.{name}")
        elif others is False:
            yield f"{at} has an unknown {name!r}"
        else:
            yield from _mismatches(item, others, root, f"{at}.{name}")


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES.get(kind, (object,)))


def _resolved(reference: str, root: Mapping[str, Any]) -> Any:
    """The schema that `#/$defs/Name` names; nothing for what is not there."""
    found: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        found = found.get(step, {}) if isinstance(found, Mapping) else {}
    return found
