"""BaseTool: what every tool is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from rxagent.errors import ConfigError
from rxagent.models.request import FunctionDeclaration, LlmRequest
from rxagent.streams.single import Single

from .context import CallContext

__all__ = ["BaseTool"]

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what chat-completions servers take


class BaseTool:
    """Something that a model may call. Subclasses implement `declaration` and `run_async`.

    name: up to 64 ASCII letters, digits, `_` and `-`; unique within an agent. description: for the model.
    is_long_running: the real answer comes later, from outside; the call is a designed pause.
    custom_metadata: for the application; rxagent does not read it.

    Raises ConfigError for a name that servers refuse. One object serves many calls at once.
    """

    __slots__ = ("_custom_metadata", "_description", "_is_long_running", "_name")

    def __init__(
        self,
        name: str,
        description: str = "",
        *,
        is_long_running: bool = False,
        custom_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} is no name for a tool: give it 1 to 64 ASCII letters, digits, '_' or '-' (name=...)"
            )
        self._name = name
        self._description = description
        self._is_long_running = is_long_running
        self._custom_metadata = dict(custom_metadata or {})

    @property
    def name(self) -> str:
        """The name that the model calls it by."""
        return self._name

    @property
    def description(self) -> str:
        """What the model is told that it does."""
        return self._description

    @property
    def is_long_running(self) -> bool:
        """True when a call of it is a designed pause."""
        return self._is_long_running

    @property
    def custom_metadata(self) -> dict[str, Any]:
        """The application's own notes."""
        return self._custom_metadata

    def declaration(self) -> FunctionDeclaration | None:
        """What the model is told; None: nothing (a tool that only changes requests)."""
        return None

    def run_async(self, args: dict[str, Any], tool_context: CallContext) -> Single[dict[str, Any]]:
        """The result of one call, as a cold Single: work starts at the subscribe, and again with each one.

        Disposal: must stop the work promptly. Errors: fail the run, unless an on-tool-error callback gives a result;
        a ToolError becomes an error result with its text. Threads: subscribed on a worker of the run, where it may
        block; the value may come from any thread.
        """
        raise ConfigError(f"the tool {self._name!r} cannot be called: {type(self).__name__} has no run_async")

    def process_llm_request(self, tool_context: CallContext, llm_request: LlmRequest) -> None:
        """Put this tool into a request that is being made; override it to change more. Raises DuplicateToolError."""
        llm_request.append_tools((self,))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r}>"
