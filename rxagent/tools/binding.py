"""Signatures: which parameters of a function a model fills in, and with what types."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, Final, NamedTuple, Optional, get_type_hints

from pydantic.fields import FieldInfo

from rxagent.errors import ConfigError

__all__ = ["CONTEXT_NAME", "REQUIRED", "Parameter", "Signature", "home_of", "read_signature"]

CONTEXT_NAME: Final = "tool_context"
"""The parameter of this name gets the context of the call; the model does not see it."""

REQUIRED: Final = object()
"""Stands for the default of a parameter that has none."""


class Parameter(NamedTuple):
    """One that the model fills in. hint: resolved. default: REQUIRED when there is none."""

    name: str
    hint: Any
    default: Any

    @property
    def is_required(self) -> bool:
        """True when a call must name it."""
        return self.default is REQUIRED


class Signature(NamedTuple):
    """What can be given to a function: by the model, and by the run."""

    parameters: tuple[Parameter, ...]
    takes_context: bool


class _Annotated:
    """Something with annotations, for `get_type_hints`."""

    def __init__(self, annotation: object) -> None:
        self.__annotations__ = {"hint": annotation}


def read_signature(func: Callable[..., object], tool: str) -> Signature:
    """The parameters of `func`, with their hints resolved; `tool` is the name for error messages.

    What a `functools.partial` fixes is no parameter. Raises ConfigError for what a model cannot fill in: a parameter
    without a hint, one whose hint cannot be resolved, `*args`, `**kwargs`, and positional-only ones.
    """
    try:
        parameters = inspect.signature(func).parameters
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the tool {tool!r} has no signature to read ({error}); wrap it in a function") from error
    fixed = _fixed_by_partial(func)
    found = [item for name, item in parameters.items() if name not in fixed]
    home = home_of(func)
    return Signature(
        tuple(_parameter(item, home, tool) for item in found if item.name != CONTEXT_NAME),
        any(item.name == CONTEXT_NAME for item in found),
    )


def home_of(func: Callable[..., object]) -> Callable[..., object]:
    """The plain function behind methods, partials, decorators that use `wraps`, and callable objects."""
    while True:
        if isinstance(func, functools.partial):
            func = func.func
        elif inspect.ismethod(func):
            func = func.__func__
        elif hasattr(func, "__wrapped__"):
            func = func.__wrapped__
        elif not inspect.isroutine(func) and inspect.isfunction(getattr(type(func), "__call__", None)):  # noqa: B004
            func = type(func).__call__
        else:
            return func


def _fixed_by_partial(func: Callable[..., object]) -> Mapping[str, object]:
    return func.keywords if isinstance(func, functools.partial) else {}


def _parameter(item: inspect.Parameter, home: Callable[..., object], tool: str) -> Parameter:
    where = f"parameter {item.name!r} of the tool {tool!r}"
    if item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD):
        raise ConfigError(f"{where}: a model cannot be told what '*' and '**' take; name the parameters")
    if item.kind is item.POSITIONAL_ONLY:
        raise ConfigError(f"{where} is positional-only, and a model gives arguments by name; remove the '/'")
    if item.annotation is item.empty:
        raise ConfigError(f"{where} has no type hint; write one (such as `{item.name}: str`), the model needs it")
    if isinstance(item.default, FieldInfo):
        raise ConfigError(f"{where}: write Annotated[type, Field(...)] in the hint; as a default the function gets it")
    hint = _resolved(item.annotation, home, where)
    if item.default is None:
        hint = Optional[hint]  # noqa: UP045 - `x: str = None` means it, and not every hint knows `|`
    return Parameter(item.name, hint, REQUIRED if item.default is item.empty else item.default)


def _resolved(annotation: object, home: Callable[..., object], where: str) -> object:
    if isinstance(annotation, type):
        return annotation
    try:
        return get_type_hints(
            _Annotated(annotation), getattr(home, "__globals__", {}), _closure(home), include_extras=True
        )["hint"]
    except Exception as error:
        raise ConfigError(
            f"{where}: the hint {annotation!r} cannot be resolved ({error}); define its type at module level, "
            "and import it outside of `if TYPE_CHECKING`"
        ) from error


def _closure(home: Callable[..., object]) -> dict[str, object]:
    code: CodeType | None = getattr(home, "__code__", None)
    cells = getattr(home, "__closure__", None) or ()
    found: dict[str, object] = {}
    for name, cell in zip(code.co_freevars if code else (), cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue  # not assigned yet
    return found
