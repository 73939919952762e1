"""What hooks and callbacks look like: seen when they are given, and when they answer."""

from __future__ import annotations

from inspect import CO_ASYNC_GENERATOR, CO_GENERATOR, CO_VARARGS
from types import CodeType
from typing import Any, Final

from rxagent.errors import ConfigError, UsageError

from .base import BasePlugin

__all__ = ["HOOKS", "check_hook", "wrong_answer"]

HOOKS: Final[dict[str, tuple[str, ...]]] = {
    name: method.__code__.co_varnames[1 : method.__code__.co_argcount]
    for name, method in vars(BasePlugin).items()
    if name.startswith(("on_", "before_", "after_"))
}
"""The hooks, each with the names of what it is called with, by position."""


def check_hook(name: str, hook: Any) -> None:
    """Raises ConfigError for what cannot be called with the arguments of the hook `name`.

    A function says so at a glance; what does not (a partial, an object, a builtin) is seen when it is called.
    """
    if not callable(hook):
        raise ConfigError(f"{name} takes a function or a list of functions, not {type(hook).__name__}")
    function = getattr(hook, "__func__", hook)
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return
    if code.co_flags & (CO_GENERATOR | CO_ASYNC_GENERATOR):
        raise ConfigError(f"{name}: {hook.__name__} is a generator; return the answer instead of yielding it")
    count = len(HOOKS[name]) + (function is not hook)  # with self
    least = code.co_argcount - len(function.__defaults__ or ())
    most = float("inf") if code.co_flags & CO_VARARGS else code.co_argcount
    by_name = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    needed = [one for one in by_name if one not in (function.__kwdefaults__ or ())]
    if not least <= count <= most or needed:
        wanted = ", ".join(HOOKS[name])
        raise ConfigError(f"{name} is called by position, with ({wanted}); {hook.__name__} takes {_taken(code, hook)}")


def wrong_answer(name: str, answer: object, wanted: str) -> UsageError:
    """The error for a hook that answers with something else."""
    return UsageError(f"{name} has answered with {type(answer).__name__}; return {wanted}, or nothing")


def _taken(code: CodeType, hook: Any) -> str:
    own = 0 if getattr(hook, "__func__", hook) is hook else 1
    names = list(code.co_varnames[own : code.co_argcount])
    if code.co_kwonlyargcount:
        names += ["*", *code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]]
    return f"({', '.join(names)})"
