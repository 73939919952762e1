"""JSON schemas as chat-completions servers read them: small, and without references where that can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, final

__all__ = ["simplified"]

Schema: TypeAlias = dict[str, Any]

_ONE: Final = frozenset({"items", "additionalProperties", "contains", "not", "propertyNames"})
_LIST: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_MAP: Final = frozenset({"properties", "patternProperties"})
_DROPPED: Final = frozenset({"title", "discriminator", "$defs"})


def simplified(schema: Schema) -> Schema:
    """The same schema for servers that know only the common part of JSON schema.

    Titles go (they repeat the names and cost tokens). `$ref`s are replaced by what they refer to; only types that
    contain themselves stay in `$defs`. `const` becomes an `enum` of one. A property whose default is null is shown
    without null: leaving it out says the same.
    """
    return _Simplifier(schema.get("$defs", {})).run(schema)


@final
class _Simplifier:
    __slots__ = ("_definitions", "_kept", "_recursive")

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions
        direct = {name: set(_references(one)) for name, one in definitions.items()}
        self._recursive = {name for name in direct if name in _reachable(name, direct)}
        self._kept: dict[str, Schema] = {}

    def run(self, schema: Schema) -> Schema:
        result = self._of(schema)
        if self._kept:
            result["$defs"] = self._kept
        return result

    def _of(self, schema: Schema) -> Schema:
        result: Schema = {}
        for key, value in schema.items():
            if key in _DROPPED:
                continue
            if key == "$ref":
                result = {**self._referred(_name_of(value)), **result}
            elif key == "const":
                result["enum"] = [value]
            elif key in _ONE and isinstance(value, dict):
                result[key] = self._of(value)
            elif key in _LIST:
                result[key] = [self._of(one) for one in value]
            elif key in _MAP:
                result[key] = {name: _without_null(self._of(one)) for name, one in value.items()}
            else:
                result[key] = value
        return result

    def _referred(self, name: str) -> Schema:
        if name not in self._recursive:
            return self._of(self._definitions[name])
        if name not in self._kept:
            self._kept[name] = {}  # before its own references are followed
            self._kept[name].update(self._of(self._definitions[name]))
        return {"$ref": f"#/$defs/{name}"}


def _without_null(schema: Schema) -> Schema:
    if "default" not in schema or schema["default"] is not None:
        return schema
    rest = {key: value for key, value in schema.items() if key != "default"}
    options = [one for one in rest.get("anyOf", ()) if one != {"type": "null"}]
    if len(options) == 1:
        del rest["anyOf"]
        return {**options[0], **rest}
    if options:
        rest["anyOf"] = options
    return rest


def _name_of(reference: str) -> str:
    return reference.rsplit("/", 1)[-1]


def _references(schema: Schema) -> Iterator[str]:
    for key, value in schema.items():
        if key == "$ref":
            yield _name_of(value)
        elif key in _ONE and isinstance(value, dict):
            yield from _references(value)
        elif key in _LIST:
            for one in value:
                yield from _references(one)
        elif key in _MAP:
            for one in value.values():
                yield from _references(one)


def _reachable(start: str, direct: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    todo = list(direct[start])
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(direct[name])
    return found
