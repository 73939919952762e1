"""OutputSchema: what shape an agent's answer, or its input, is to have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast, final, get_origin

from rxagent.errors import ConfigError
from rxagent.tools.json_schema import simplified

from .output_check import mismatch

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["OutputSchema"]


@final
class OutputSchema:
    """A pydantic model class, another type that pydantic knows (`list[City]`, a dataclass), or a JSON schema as a dict.

    A dict may name its types in capitals, as ADK's do; models are given JSON schema's own words.
    Raises ConfigError for what is neither; a type without a schema is found at its first use.
    """

    __slots__ = ("_adapter", "_json_schema", "given")

    def __init__(self, given: object) -> None:
        if not (isinstance(given, (Mapping, type)) or get_origin(given) is not None):
            raise ConfigError(f"a schema is a pydantic model class or a JSON schema as a dict, not {given!r}")
        self.given = given
        self._adapter: TypeAdapter[Any] | None = None
        self._json_schema: dict[str, Any] | None = None

    @property
    def json_schema(self) -> dict[str, Any]:
        """The JSON schema; made once."""
        if self._json_schema is None:
            given = self.given
            schema = _in_small_letters(given) if isinstance(given, Mapping) else self._pydantic().json_schema()
            self._json_schema = schema if isinstance(given, Mapping) else simplified(schema)
        return self._json_schema

    @property
    def is_object(self) -> bool:
        """True when the values are JSON objects."""
        return self.json_schema.get("type") == "object" or "properties" in self.json_schema

    def parse(self, text: str) -> Any:
        """The JSON value that the text holds, if it fits. Raises ValueError when it does not, or is no JSON."""
        if isinstance(self.given, Mapping):
            return self.check(json.loads(text))
        return self._plain(self._pydantic().validate_json(text))

    def check(self, value: Any) -> Any:
        """The JSON value, if it fits. Raises ValueError when it does not."""
        if not isinstance(self.given, Mapping):
            return self._plain(self._pydantic().validate_python(value))
        if problem := mismatch(value, self.json_schema):
            raise ValueError(problem)
        return value

    def _plain(self, value: Any) -> Any:
        return self._pydantic().dump_python(value, mode="json", by_alias=True)

    def _pydantic(self) -> TypeAdapter[Any]:
        if self._adapter is None:
            from pydantic import PydanticUserError, TypeAdapter

            try:
                self._adapter = TypeAdapter(cast(Any, self.given))
                self._adapter.json_schema()
            except (PydanticUserError, TypeError) as error:
                raise ConfigError(
                    f"{self.given!r} has no JSON schema; give a pydantic model class or a dict"
                ) from error
        return self._adapter

    def __repr__(self) -> str:
        return f"OutputSchema({self.given!r})"


def _in_small_letters(schema: Any) -> Any:
    """The schema with its types in small letters."""
    if isinstance(schema, Mapping):
        return {key: _type(value) if key == "type" else _in_small_letters(value) for key, value in schema.items()}
    return [_in_small_letters(item) for item in schema] if isinstance(schema, (list, tuple)) else schema


def _type(value: Any) -> Any:
    if isinstance(value, str):
        return value.lower()
    return [_type(item) for item in value] if isinstance(value, list) else _in_small_letters(value)
