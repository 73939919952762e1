"""Memory services as users may write them."""

from __future__ import annotations

from typing import Any

from rxagent.memory import BaseMemoryService, InMemoryMemoryService, SearchMemoryResponse
from rxagent.sessions import Session
from rxagent.streams import Single

__all__ = ["AsyncMemory", "SingleMemory"]


class AsyncMemory(BaseMemoryService):
    """A service whose methods are coroutine functions."""

    def __init__(self) -> None:
        self._inner = InMemoryMemoryService()

    async def add_session_to_memory(self, session: Session) -> None:
        self._inner.add_session_to_memory(session)

    async def search_memory(self, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        return self._inner.search_memory(app_name, user_id, query)


class SingleMemory(InMemoryMemoryService):
    """A service that returns Singles."""

    def search_memory(self, app_name: str, user_id: str, query: str) -> Any:
        return Single.just(super().search_memory(app_name, user_id, query))
