"""Callbacks as they are given to an agent: one or several, looked at on the spot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from rxagent.agents import LlmAgent, SequentialAgent
from rxagent.agents.callbacks import callbacks
from rxagent.errors import ConfigError
from rxagent.plugins.hooks import HOOKS

AGENT_HOOKS = [
    "before_agent_callback",
    "after_agent_callback",
    "before_model_callback",
    "after_model_callback",
    "on_model_error_callback",
    "before_tool_callback",
    "after_tool_callback",
    "on_tool_error_callback",
]


def taking(count: int, body: str = "None") -> Callable[..., Any]:
    """A function of so many parameters."""
    names = ", ".join(f"p{number}" for number in range(count))
    made: Callable[..., Any] = eval(f"lambda {names}: {body}")
    return made


def one(ctx: Any) -> None: ...


def other(ctx: Any) -> None: ...


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, ()), ([], ()), (one, (one,)), ([one, other], (one, other)), ((other, one), (other, one))],
)
def test_one_or_several(given: Any, expected: tuple[Any, ...]) -> None:
    """None, one, or a list in its order."""
    assert callbacks("before_agent_callback", given) == expected


@pytest.mark.parametrize("hook", AGENT_HOOKS)
@pytest.mark.parametrize("given", [5, "stop_if_asked", [print, 5], {"a": 1}], ids=str)
def test_what_cannot_be_called(hook: str, given: Any) -> None:
    """What is no function, alone or in a list, is a ConfigError that names the argument, at construction."""
    with pytest.raises(ConfigError, match=f"^{hook} takes a function or a list of functions"):
        LlmAgent(name="agent", **{hook: given})


@pytest.mark.parametrize("hook", AGENT_HOOKS)
def test_the_number_of_parameters(hook: str) -> None:
    """A function with too few or too many parameters is a ConfigError that says what it is called with."""
    count = len(HOOKS[hook])
    good: dict[str, Any] = {hook: taking(count)}
    LlmAgent(name="agent", **good)
    for wrong in (0, count - 1, count + 1):
        bad: dict[str, Any] = {hook: [taking(count), taking(wrong)]}
        with pytest.raises(ConfigError, match=f"{hook} is called by position, with .{', '.join(HOOKS[hook])}."):
            LlmAgent(name="agent", **bad)


class Methods:
    """Callbacks as methods."""

    def fits(self, ctx: Any) -> None: ...

    def lacks(self) -> None: ...

    @classmethod
    def of_class(cls, ctx: Any) -> None: ...

    @staticmethod
    def static(ctx: Any) -> None: ...

    def __call__(self, ctx: Any, whatever: Any) -> None: ...


def with_default(ctx: Any, more: int = 1, *, name: str = "") -> None: ...


def with_all(*args: Any, **options: Any) -> None: ...


def by_name(ctx: Any, *, name: str) -> None: ...


def only_by_name(*, callback_context: Any) -> None: ...


def generator(ctx: Any) -> Iterator[None]:
    yield


async def async_generator(ctx: Any) -> Any:
    yield


GOOD = [
    with_default,
    with_all,
    Methods().fits,
    Methods.of_class,
    Methods.static,
    Methods(),
    partial(taking(2), 1),
    print,
]


@pytest.mark.parametrize("given", GOOD)
def test_what_fits(given: Any) -> None:
    """Defaults, `*args` and methods fit; what cannot be judged at a glance (objects, partials, builtins) is taken."""
    assert LlmAgent(name="agent", before_agent_callback=given).before_agent_callbacks == (given,)


@pytest.mark.parametrize("given", [Methods().lacks, by_name, only_by_name, generator, async_generator])
def test_what_does_not_fit(given: Any) -> None:
    """A method without a parameter, one that wants names, a generator: each is a ConfigError that names it."""
    with pytest.raises(ConfigError, match=given.__name__):
        SequentialAgent(name="agent", before_agent_callback=given)


def test_an_unknown_keyword() -> None:
    """A slip in a callback's name is a TypeError, as for every Python function."""
    with pytest.raises(TypeError, match="before_agent_callbak"):
        LlmAgent(name="agent", before_agent_callbak=one)  # type: ignore[call-arg]
