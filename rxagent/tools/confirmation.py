"""Confirmation: a tool that asks the user before it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, final

from rxagent.errors import ConfigError

from .binding import Parameter
from .context import CallContext

__all__ = ["Confirmation", "RequireConfirmation"]

RequireConfirmation: TypeAlias = bool | Callable[..., bool]
"""True: always ask. A predicate gets those of the call's arguments that it has parameters for, by name."""

_ASKED: Final = "This tool call requires confirmation, please approve or reject."
_REJECTED: Final = "This tool call is rejected."


@final
class Confirmation:
    """Whether a call may run now (ADK Java, FunctionTool).

        not asked yet   --> the question is asked; a provisional {"error": ...}
        rejected        --> {"error": ...}
        approved        --> it runs

    Raises ConfigError for a predicate that takes what is no parameter of the tool.
    """

    __slots__ = ("_defaults", "_names", "_required", "_tool")

    def __init__(self, required: RequireConfirmation, parameters: Sequence[Parameter], tool: str) -> None:
        self._required = required
        self._tool = tool
        self._defaults = {one.name: one.default for one in parameters if not one.is_required}
        self._names: Sequence[str] = ()
        if callable(required):
            self._names = _names(required, [one.name for one in parameters], tool)

    def refusal(self, arguments: Mapping[str, Any], tool_context: CallContext) -> dict[str, Any] | None:
        """The result of a call that is not to run now; None when it is."""
        decided = tool_context.tool_confirmation
        if decided is not None and (decided.confirmed or self._is_required(arguments)):
            return None if decided.confirmed else {"error": _REJECTED}
        if not self._is_required(arguments):
            return None
        tool_context.request_confirmation(
            f"Please approve or reject the tool call {self._tool}() by responding with a FunctionResponse with an "
            "expected ToolConfirmation payload."
        )
        return {"error": _ASKED}

    def _is_required(self, arguments: Mapping[str, Any]) -> bool:
        if not callable(self._required):
            return self._required
        given = {**self._defaults, **arguments}
        return bool(self._required(**{name: given[name] for name in self._names if name in given}))


def _names(predicate: Callable[..., bool], known: Sequence[str], tool: str) -> Sequence[str]:
    wanted = inspect.signature(predicate).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in wanted):
        return known
    unknown = [one.name for one in wanted if one.name not in known and one.default is one.empty]
    if unknown or inspect.iscoroutinefunction(predicate):
        raise ConfigError(
            f"require_confirmation of the tool {tool!r} takes {', '.join(unknown) or 'its time (a coroutine)'}; give a "
            f"plain function of the tool's own arguments, by name ({', '.join(known) or 'it has none'})"
        )
    return [one.name for one in wanted if one.name in known]
