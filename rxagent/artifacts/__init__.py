"""Artifacts: named, versioned files beside a session's log."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base import BaseArtifactService, MaybeAwaitable
from .memory import InMemoryArtifactService

if TYPE_CHECKING:
    from .file import FileArtifactService

__all__ = ["BaseArtifactService", "FileArtifactService", "InMemoryArtifactService", "MaybeAwaitable"]


def __getattr__(name: str) -> Any:
    if name != "FileArtifactService":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = import_module(".file", __name__).FileArtifactService
    return value
