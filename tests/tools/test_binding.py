"""read_signature: which parameters a model fills in."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import pytest
from pydantic import Field

from rxagent.errors import ConfigError
from rxagent.tools.binding import REQUIRED, home_of, read_signature

from .calls import HandContext

if TYPE_CHECKING:
    from rxagent.tools import CallContext


def plain(a: int, b: Annotated[str, "B."] = "x", *, c: list[int] | None = None) -> None: ...


class Shop:
    def order(self, item: str, tool_context: CallContext) -> str:
        return item

    @classmethod
    def close(cls, day: int) -> None: ...

    @staticmethod
    def open(day: int) -> None: ...

    def __call__(self, item: str) -> None: ...


def names(func: Callable[..., object]) -> list[str]:
    return [one.name for one in read_signature(func, "t").parameters]


def test_hints_are_resolved() -> None:
    """Hints written as texts are resolved, Annotated is kept, and defaults are known."""
    signature = read_signature(plain, "t")
    assert [tuple(one) for one in signature.parameters] == [
        ("a", int, REQUIRED),
        ("b", get_type_hints(plain, include_extras=True)["b"], "x"),
        ("c", list[int] | None, None),
    ]
    assert not signature.takes_context
    assert signature.parameters[0].is_required
    assert not signature.parameters[2].is_required


def test_none_as_default_makes_optional() -> None:
    """`x: str = None` takes None."""

    def f(x: str = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    assert read_signature(f, "t").parameters[0].hint == str | None


@pytest.mark.promise("J21")
def test_tool_context_is_bound_by_name() -> None:
    """`tool_context` is no parameter for the model, whatever its hint: unresolvable, missing or wrong."""

    def missing(tool_context, a: int) -> None: ...  # type: ignore[no-untyped-def]

    def wrong(a: int, tool_context: int = 3) -> None: ...

    for func in (Shop().order, missing, wrong):
        signature = read_signature(func, "t")
        assert signature.takes_context
        assert len(signature.parameters) == 1


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        (Shop().order, ["item"]),
        (Shop.close, ["day"]),
        (Shop.open, ["day"]),
        (Shop(), ["item"]),
        (functools.partial(plain, 1), ["b", "c"]),
        (functools.partial(plain, b="secret"), ["a", "c"]),
        (functools.partial(functools.partial(plain, b="y"), c=None), ["a"]),
        (functools.partial(Shop().order, tool_context=HandContext()), ["item"]),
    ],
    ids=["method", "classmethod", "staticmethod", "object", "partial", "keyword", "nested", "context"],
)
def test_kinds_of_callables(func: Callable[..., object], expected: list[str]) -> None:
    """Methods, callable objects and partials work; what a partial fixes is no parameter."""
    assert names(func) == expected


def test_decorated() -> None:
    """A decorator that uses `wraps` is looked through, hints included."""

    @functools.wraps(plain)
    def wrapper(*args: Any, **kwargs: Any) -> object:
        return args, kwargs

    assert names(wrapper) == ["a", "b", "c"]
    assert home_of(wrapper) is plain


def test_closure_types() -> None:
    """A local type is found when the function's body uses it too."""

    class Local: ...

    def f(a: Local) -> object:
        return Local

    assert read_signature(f, "t").parameters[0].hint is Local


def unhinted(a, b: int) -> None: ...  # type: ignore[no-untyped-def]
def star(*a: int) -> None: ...
def stars(**a: int) -> None: ...
def positional(a: int, /) -> None: ...
def unknown(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def broken(a: 1 / 0) -> None: ...  # type: ignore[valid-type]
def field_default(a: int = Field(description="A.")) -> None: ...


@pytest.mark.parametrize(
    ("func", "words"),
    [
        (unhinted, r"parameter 'a' of the tool 't' has no type hint; write one \(such as `a: str`\)"),
        (star, r"parameter 'a' of the tool 't': .* name the parameters"),
        (stars, r"parameter 'a' of the tool 't': .* name the parameters"),
        (positional, r"parameter 'a' of the tool 't' is positional-only"),
        (unknown, r"parameter 'a' of the tool 't': the hint 'Nowhere' cannot be resolved"),
        (broken, r"parameter 'a' of the tool 't': the hint .* cannot be resolved"),
        (field_default, r"parameter 'a' of the tool 't': write Annotated"),
        (Shop.order, r"parameter 'self' of the tool 't' has no type hint"),
        (math.hypot, r"the tool 't'|parameter"),
        (dict.fromkeys, r"the tool 't'|parameter"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_a_model_cannot_fill_in(func: Callable[..., object], words: str) -> None:
    """What a model cannot fill in is a ConfigError that names the parameter and says what to do."""
    with pytest.raises(ConfigError, match=words):
        read_signature(func, "t")
