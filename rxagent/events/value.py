"""The base of all values: frozen pydantic models that keep what they do not know."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer
from pydantic.alias_generators import to_camel

__all__ = ["Base64", "Milliseconds", "Value", "own_copy"]

_set = object.__setattr__  # for a frozen copy in the making


def _to_milliseconds(value: Any) -> Any:
    if isinstance(value, float) and 0 <= value < 1e11:
        return round(value * 1000)
    if isinstance(value, int) and 10**9 <= value < 10**11:
        return value * 1000
    return round(value) if isinstance(value, float) else value


Milliseconds: TypeAlias = Annotated[int, BeforeValidator(_to_milliseconds)]
"""A time in milliseconds since 1970, as in ADK Java.

ADK Python writes seconds: a float below 1e11 is taken as seconds, and so is a whole number from 1e9 on below 1e11
(as milliseconds that would be a time before March 1973). Smaller whole numbers stay what they are.
"""


def _from_base64(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    plain = value.rstrip("=").translate(_URL_SAFE)
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError as error:
        raise ValueError(f"not base64: {error}") from None


def _to_base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def own_copy(value: Any) -> Any:
    """The value; dicts and lists, on every level, as copies. What JSON holds shares nothing with its source then."""
    if isinstance(value, dict):
        return {key: own_copy(item) for key, item in value.items()} if value else {}
    if isinstance(value, list):
        return [own_copy(item) for item in value]
    return value


_URL_SAFE = str.maketrans("-_", "+/")

Base64: TypeAlias = Annotated[
    bytes, BeforeValidator(_from_base64), PlainSerializer(_to_base64, return_type=str, when_used="json")
]
"""Bytes that are base64 in JSON: the standard alphabet is written (ADK Java), the URL-safe one is read, too (ADK
Python); padding may be missing. A text given in Python is base64 as well; give bytes for bytes."""


class Value(BaseModel):
    """A frozen value with ADK's JSON: camelCase keys, absent fields left out, unknown fields kept.

    `model_dump_json(by_alias=True)` writes it, `model_validate_json` reads it. Fields may be given by either name
    (`invocation_id=` or `invocationId=`). Dumps leave out None fields, known or not, unless `exclude_none=False` is
    given; None *inside* a dict (arguments, state) is a value and stays, and so does a false or empty one.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,  # the validator is built at the first use: importing stays cheap
    )

    def __repr_args__(self) -> Any:
        """Only what is there: an absent field says nothing."""
        return [(name, value) for name, value in super().__repr_args__() if value is not None]

    def model_dump(self, *, exclude_none: bool = True, **options: Any) -> dict[str, Any]:
        """As pydantic's, with absent fields left out."""
        return super().model_dump(exclude_none=exclude_none, **options)

    def model_dump_json(self, *, exclude_none: bool = True, **options: Any) -> str:
        """As pydantic's, with absent fields left out."""
        return super().model_dump_json(exclude_none=exclude_none, **options)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's; a copy that only replaces fields is made four times as fast, as a run makes many."""
        fields = self.__dict__
        if deep or (update and not update.keys() <= fields.keys()):  # an unknown name goes where pydantic wants it
            return super().model_copy(update=update, deep=deep)
        copy = self.__class__.__new__(self.__class__)
        extra = self.__pydantic_extra__
        _set(copy, "__dict__", {**fields, **update} if update else dict(fields))
        _set(copy, "__pydantic_extra__", dict(extra) if extra else extra)
        _set(copy, "__pydantic_fields_set__", self.__pydantic_fields_set__ | (update or {}).keys())
        _set(copy, "__pydantic_private__", None)
        return copy
