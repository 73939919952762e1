"""FunctionTool and as_tool: what is declared, refused and bound."""

from __future__ import annotations

import functools
import threading
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import pytest
from pydantic import BeforeValidator

from rxagent.errors import ConfigError
from rxagent.tools import BaseTool, CallContext, FunctionTool, as_tool

from .calls import Call, HandContext, result_of
from .functions import INTERNAL, AsyncShop, Shop, get_weather, look_up, refuse

# -- what the model is told --------------------------------------------------------------------------------------------


def test_declaration() -> None:
    """Name, description and parameters come from the function, its hints and its docstring."""
    declared = FunctionTool(get_weather).declaration()
    assert declared.name == "get_weather"
    assert declared.description == "Current weather."
    assert declared.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city."},
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C", "description": "Temperature unit."},
        },
        "required": ["city"],
    }


@pytest.mark.promise("J21")
def test_tool_context_is_not_declared() -> None:
    """The model does not see `tool_context`."""
    parameters = FunctionTool(look_up).declaration().parameters
    assert parameters == {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}


def test_no_parameters() -> None:
    """A function without parameters declares an empty object, as ADK does."""
    assert FunctionTool(refuse).declaration().parameters == {"type": "object", "properties": {}}


def test_given_name_and_description() -> None:
    """A given name and description come before the function's own, an empty description too."""
    tool = FunctionTool(get_weather, name="weather", description="")
    assert (tool.name, tool.description, tool.declaration().description) == ("weather", "", "")
    assert tool.func is get_weather


def test_made_once() -> None:
    """The declaration is made once: a request for each step must not cost a schema."""
    tool = FunctionTool(get_weather)
    assert tool.declaration() is tool.declaration()


@pytest.mark.parametrize(
    ("func", "name", "description"),
    [
        (Shop().order, "order", "Order an item."),
        (functools.partial(get_weather, unit="F"), "get_weather", "Current weather."),
        (Shop(), "Shop", "A shop."),
        (AsyncShop(), "AsyncShop", "Order an item."),
    ],
    ids=["method", "partial", "object", "async object"],
)
def test_kinds_of_callables(func: Callable[..., object], name: str, description: str) -> None:
    """Methods, partials and callable objects have a name and a description."""
    tool = as_tool(func)
    assert (tool.name, tool.description) == (name, description)


def test_a_partial_hides_what_it_fixes() -> None:
    """What a partial fixes is not told to the model, and cannot be overridden by it."""
    tool = FunctionTool(functools.partial(get_weather, unit="F"))
    assert "unit" not in (tool.declaration().parameters or {})["properties"]
    assert result_of(tool, city="Oslo", unit="C")["unit"] == "F"


# -- construction ------------------------------------------------------------------------------------------------------


def no_hint(a) -> None: ...  # type: ignore[no-untyped-def]
def no_schema(a: threading.Lock) -> None: ...


async def generator(a: int) -> AsyncIterator[int]:
    yield a


@pytest.mark.parametrize(
    ("func", "words"),
    [
        (no_hint, "parameter 'a' of the tool 'no_hint' has no type hint"),
        (no_schema, "parameter 'a' of the tool 'no_schema': .*lock.* has no JSON schema"),
        (generator, "'generator' is a class or an async generator"),
        (Shop, "'Shop' is a class"),
        (lambda: None, "'<lambda>' is no name for a tool"),
    ],
    ids=["hint", "schema", "generator", "class", "lambda"],
)
def test_mistakes_are_told_at_construction(func: Callable[..., object], words: str) -> None:
    """What a model cannot be told is a ConfigError where the tool is made."""
    with pytest.raises(ConfigError, match=words):
        FunctionTool(func)


def test_as_tool() -> None:
    """A tool passes through, a callable becomes a FunctionTool."""
    tool = BaseTool("look")
    assert as_tool(tool) is tool
    made = as_tool(get_weather)
    assert isinstance(made, FunctionTool)
    assert made.func is get_weather


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("get_weather", "not str: 'get_weather'"),
        (None, "not NoneType"),
        (BaseTool, r"give an object of it: BaseTool\("),
    ],
)
def test_no_tool(value: Any, words: str) -> None:
    """Anything else is a ConfigError that says what a tool is."""
    with pytest.raises(ConfigError, match=words):
        as_tool(value)


# -- arguments ---------------------------------------------------------------------------------------------------------


def add(a: int, b: int) -> dict[str, int]:
    return {"sum": a + b}


def greet(who: str, title: str | None = None) -> str:
    return f"hello {title} {who}" if title else f"hello {who}"


def test_binding_as_in_adk() -> None:
    """Numeric texts and whole floats do for an int, extra arguments are ignored, optional ones may be left out."""
    assert result_of(add, a=1, b=2) == {"sum": 3}
    assert result_of(add, a="3", b=2.0, zz=1) == {"sum": 5}
    assert result_of(greet, who="Bo") == {"result": "hello Bo"}
    assert result_of(greet, who="Bo", title="Dr") == {"result": "hello Dr Bo"}
    assert result_of(greet, who="Bo", title=None) == {"result": "hello Bo"}


@pytest.mark.parametrize(("args", "word"), [({"a": 1}, "'b' is missing"), ({"a": "x", "b": 2}, "'a' is wrong")])
def test_arguments_that_do_not_bind(args: dict[str, object], word: str) -> None:
    """Arguments that do not bind are an error result that names the parameter; the function is not called."""
    result = result_of(add, **args)
    assert result["status"] == "error"
    assert word in result["message"]


def careless(value: object) -> object:
    raise KeyError("secret")


def uses_careless(value: Annotated[int, BeforeValidator(careless)]) -> int:
    return value


def test_a_validator_that_raises() -> None:
    """What a hint's own validator raises by mistake is an internal error result, not the run's failure."""
    assert result_of(uses_careless, value=1) == INTERNAL


@pytest.mark.promise("J21")
def test_context_is_given() -> None:
    """The context of the call, with its id, arrives in `tool_context`, and the model cannot give another."""
    seen: list[object] = []

    def keep(tool_context: object) -> None:
        seen.append(tool_context)

    context = HandContext("c9")
    assert Call(FunctionTool(keep), {"tool_context": "forged"}, context).wait().results == [{}]
    assert seen == [context]


def test_actions_and_state_through_the_context() -> None:
    """A tool writes state and actions through its context."""

    def mark(tool_context: CallContext) -> None:
        tool_context.state["seen"] = True
        tool_context.end_invocation = True

    context = HandContext()
    Call(FunctionTool(mark), {}, context).wait()
    assert context.actions.state_delta == {"seen": True}
    assert context.end_invocation
