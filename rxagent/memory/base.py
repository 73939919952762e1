"""The memory service: what a store of remembered sessions must do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from .entry import SearchMemoryResponse

if TYPE_CHECKING:
    from rxagent.sessions import Session

__all__ = ["BaseMemoryService", "MaybeAwaitable"]

T = TypeVar("T")
MaybeAwaitable: TypeAlias = T | Awaitable[T]
"""The built-in service returns values; a user's service may return awaitables, which a run awaits."""


class BaseMemoryService(ABC):
    """Sessions by app and user, put in as a whole, and searched by words or meaning (ADK).

    Nothing is put in by itself: an application calls `add_session_to_memory`, after a run or in a callback. Every
    method may be called from any thread.
    """

    @abstractmethod
    def add_session_to_memory(self, session: Session) -> MaybeAwaitable[None]:
        """Remember the session as it stands; what was remembered of it before is replaced."""

    @abstractmethod
    def search_memory(self, app_name: str, user_id: str, query: str) -> MaybeAwaitable[SearchMemoryResponse]:
        """What the user's remembered sessions of this app say on the query; empty when there is nothing."""

    def close(self) -> MaybeAwaitable[None]:
        """Free what the service holds. The default holds nothing."""
        return None
