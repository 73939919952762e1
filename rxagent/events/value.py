"""The base of all values: frozen pydantic models that keep what they do not know."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

__all__ = ["Value"]


class Value(BaseModel):
    """A frozen value with ADK's JSON: camelCase keys, absent fields left out, unknown fields kept.

    Fields may be given by either name (`invocation_id=` or `invocationId=`). Dumps leave out None fields
    unless `exclude_none=False` is given; None *inside* a dict (arguments, state) is a value and stays.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        ser_json_bytes="base64",
        val_json_bytes="base64",
        defer_build=True,  # the validator is built at the first use: importing stays cheap
    )

    def model_dump(self, *, exclude_none: bool = True, **options: Any) -> dict[str, Any]:
        """As pydantic's, with absent fields left out."""
        return super().model_dump(exclude_none=exclude_none, **options)

    def model_dump_json(self, *, exclude_none: bool = True, **options: Any) -> str:
        """As pydantic's, with absent fields left out."""
        return super().model_dump_json(exclude_none=exclude_none, **options)
