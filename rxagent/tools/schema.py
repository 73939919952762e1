"""Arguments: the JSON schema of a function's parameters, and what a model gave as their values."""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Final, Literal, NotRequired, TypeAlias, Union, cast, final, get_args, get_origin

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict  # before Python 3.12 pydantic takes only this one

from rxagent.errors import ConfigError

from .binding import Parameter
from .json_schema import simplified

__all__ = ["Arguments", "BindError"]

_Validate: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]

_PLAIN: Final = frozenset({str, int, float, bool, list, dict, tuple, set, frozenset, object, Any, type(None), ...})
_CONTAINERS: Final = frozenset({list, dict, tuple, set, frozenset, Union, types.UnionType})


class BindError(Exception):
    """Raised when a model's arguments do not fit; the message is for the model."""


@final
class Arguments:
    """The parameters that a model fills in.

    Conversion is pydantic's lax one, so `"3"` and `3.0` do for an int (as in ADK Java), and numbers do for a str.
    The validator is built at first use, because many agents are made and never run; only hints other than the common
    ones are tried at construction, so that ConfigError comes from where the tool is made.
    """

    __slots__ = ("_parameters", "_tool", "_validate")

    def __init__(self, parameters: Sequence[Parameter], tool: str) -> None:
        self._parameters = parameters
        self._tool = tool
        self._validate: _Validate | None = None
        if not all(_is_common(parameter.hint) for parameter in parameters):
            self.json_schema({})

    def bind(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """The values for the parameters, converted; what the model left out is absent, what is extra is ignored.

        Raises BindError naming the parameters that lack a value or have a wrong one.
        """
        if not self._parameters:
            return {}
        validate = self._validate
        if validate is None:
            validate = self._use(self._adapter({}))
        try:
            return validate(args)
        except ValidationError as error:
            raise BindError(_told(error)) from error

    def json_schema(self, descriptions: Mapping[str, str]) -> dict[str, Any]:
        """The schema of the arguments object.

        descriptions: by parameter; the hint's own (`Annotated[str, "..."]`, `Field(description=...)`) comes first.
        Raises ConfigError naming the parameter whose hint has no schema.
        """
        if not self._parameters:
            return {"type": "object", "properties": {}}
        try:
            adapter = self._adapter(descriptions)
            schema = simplified(adapter.json_schema())
        except ConfigError:
            raise
        except Exception as error:
            raise self._no_schema(error) from error
        self._use(adapter)
        return schema

    def _use(self, adapter: TypeAdapter[dict[str, Any]]) -> _Validate:
        self._validate = validate = adapter.validator.validate_python
        return validate

    def _adapter(self, descriptions: Mapping[str, str]) -> TypeAdapter[dict[str, Any]]:
        fields = {one.name: _field(one, descriptions.get(one.name)) for one in self._parameters}
        try:
            arguments = cast(Callable[[str, dict[str, Any]], Any], TypedDict)("Arguments", fields)
            arguments.__pydantic_config__ = ConfigDict(coerce_numbers_to_str=True)
            return TypeAdapter(arguments)
        except Exception as error:
            raise self._no_schema(error) from error

    def _no_schema(self, error: Exception) -> ConfigError:
        where = f"the tool {self._tool!r}: its hints"
        for parameter in self._parameters:
            try:
                TypeAdapter(parameter.hint).json_schema()
            except Exception as own:
                where, error = f"parameter {parameter.name!r} of the tool {self._tool!r}: {parameter.hint!r}", own
                break
        reason = str(error).partition("\n")[0]
        return ConfigError(f"{where} has no JSON schema ({reason}); use JSON's types, a dataclass or a pydantic model")


def _field(parameter: Parameter, documented: str | None) -> Any:
    extra = {} if parameter.is_required else _default(parameter.default)
    description = None if _has_description(parameter.hint) else _described(parameter.hint) or documented
    hint: Any = parameter.hint
    if description or extra:
        hint = Annotated[hint, Field(description=description, json_schema_extra=extra or None)]
    return hint if parameter.is_required else NotRequired[hint]


def _default(value: object) -> dict[str, Any]:
    try:
        return {"default": to_jsonable_python(value)}
    except (ValueError, TypeError):
        return {}  # the function knows it; the model cannot be told


def _has_description(hint: object) -> bool:
    return any(isinstance(one, FieldInfo) and one.description for one in getattr(hint, "__metadata__", ()))


def _described(hint: object) -> str | None:
    return next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, str)), None)


def _is_common(hint: Any) -> bool:
    """True for a hint that surely has a schema, so that it need not be built to know."""
    origin = get_origin(hint)
    if origin in _CONTAINERS:
        return all(_is_common(one) for one in get_args(hint))
    if origin is Annotated:
        return _is_common(hint.__origin__) and all(isinstance(one, str) for one in hint.__metadata__)
    if origin is Literal or (isinstance(hint, type) and issubclass(hint, Enum)):
        return True
    return isinstance(hint, Hashable) and hint in _PLAIN


def _told(error: ValidationError) -> str:
    lines: dict[str, str] = {}  # the first complaint for each place
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        place = ".".join(str(step) for step in one["loc"])
        text = "is missing" if one["type"] == "missing" else "is wrong: " + one["msg"]
        lines.setdefault(place, f"The argument {place!r} {text}.")
    return " ".join((*lines.values(), "Call the tool again with corrected arguments."))
