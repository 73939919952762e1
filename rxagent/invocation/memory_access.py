"""How code of a run reaches what the user's earlier sessions hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rxagent.errors import ConfigError
from rxagent.streams import CancelScope

from .service_answer import answer_here

if TYPE_CHECKING:
    from rxagent.memory import SearchMemoryResponse

    from .invocation import Invocation

__all__ = ["MemoryAccess"]


class MemoryAccess:
    """The memory of one run's user."""

    __slots__ = ("_invocation", "_scope")

    def __init__(self, invocation: Invocation, scope: CancelScope) -> None:
        self._invocation = invocation
        self._scope = scope

    def search(self, query: str) -> Any:
        """What was found, or what it is to be waited for. Raises ConfigError where there is no memory."""
        invocation = self._invocation
        if invocation.memory_service is None:
            raise ConfigError("Memory service is not initialized; give the Runner a memory_service")
        return invocation.memory_service.search_memory(invocation.app_name, invocation.user_id, query)

    def wait(self, answer: Any) -> SearchMemoryResponse:
        """The answer's value. Raises UsageError on an event loop's thread when it has to be waited for."""
        found: SearchMemoryResponse = answer_here(answer, self._scope, "`await ctx.asearch_memory(...)`")
        return found
