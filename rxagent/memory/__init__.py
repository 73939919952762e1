"""Memory: what a user's earlier sessions hold, to be searched."""

from __future__ import annotations

from .base import BaseMemoryService
from .entry import MemoryEntry, SearchMemoryResponse
from .in_memory import InMemoryMemoryService

__all__ = ["BaseMemoryService", "InMemoryMemoryService", "MemoryEntry", "SearchMemoryResponse"]
