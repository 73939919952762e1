"""The tools and the context that an AG-UI client brings to a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast, final

from ag_ui.core import Context, Tool
from starlette.exceptions import HTTPException

from rxagent.errors import ConfigError
from rxagent.events.confirmation import REQUEST_CONFIRMATION
from rxagent.invocation import ToolContext
from rxagent.models import FunctionDeclaration
from rxagent.streams import Single
from rxagent.tools import BaseTool, CallContext

__all__ = ["ClientTool", "client_tools", "context_text"]


@final
class ClientTool(BaseTool):
    """A tool that the client runs, when the run has ended. A call of it is a designed pause.

    parameters: a JSON schema of its arguments, told to the model as it is.
    """

    __slots__ = ("_parameters",)

    def __init__(self, name: str, description: str, parameters: dict[str, Any] | None) -> None:
        super().__init__(name, description, is_long_running=True)
        self._parameters = parameters

    def declaration(self) -> FunctionDeclaration:
        """Name, description and parameters, as the client gave them."""
        return FunctionDeclaration(name=self.name, description=self.description, parameters=self._parameters)

    def run_async(self, args: dict[str, Any], tool_context: CallContext) -> Single[dict[str, Any]]:
        """Nothing: the client answers later.

        An app whose runs do not pause is told to end this one: else its model would be asked once more, without the
        answer, when it has called another tool beside this one.
        """
        here = cast(ToolContext, tool_context).invocation_context
        if not (here.is_resumable or here.pauses_as_before):
            tool_context.end_invocation = True
        return Single.just({})


def client_tools(offered: Iterable[Tool]) -> tuple[ClientTool, ...]:
    """What the client offers. Status 422 for a tool that a model cannot be told of, and for two of one name."""
    found: dict[str, ClientTool] = {}
    for tool in offered:
        if tool.name == REQUEST_CONFIRMATION or tool.name in found:
            why = "twice" if tool.name in found else "under a name that questions have"
            raise HTTPException(422, f"the tool {tool.name!r} is offered {why}; rename it")
        if tool.parameters is not None and not isinstance(tool.parameters, dict):
            raise HTTPException(422, f"the parameters of the tool {tool.name!r} are no JSON schema; send an object")
        try:
            found[tool.name] = ClientTool(tool.name, tool.description, tool.parameters)
        except ConfigError as error:
            raise HTTPException(422, f"tools: {error}") from None
    return tuple(found.values())


def context_text(entries: Iterable[Context]) -> str:
    """The context in words for a model; empty without entries."""
    told = [f"{one.description}:\n{one.value}" for one in entries]
    return "\n\n".join(["Context from the user's application:", *told]) if told else ""
