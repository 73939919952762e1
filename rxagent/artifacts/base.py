"""The artifact service: what a store of named, versioned files must do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import TypeAlias, TypeVar

from rxagent.errors import UsageError
from rxagent.events import USER_PREFIX, Part

__all__ = ["BaseArtifactService", "MaybeAwaitable", "checked_name", "is_shared"]

T = TypeVar("T")
MaybeAwaitable: TypeAlias = T | Awaitable[T]
"""Built-in services return values; a user's service may return awaitables, which a run awaits."""


class BaseArtifactService(ABC):
    """Artifacts by app, user, session and file name; each save makes a new version, from 0 (ADK).

    A file name that begins with `user:` is shared by all sessions of the user; another belongs to its session. Any
    other text but the empty one is a name. Every method may be called from any thread. A version, once saved, is
    whole and does not change.
    """

    @abstractmethod
    def save_artifact(
        self, app_name: str, user_id: str, session_id: str, filename: str, artifact: Part
    ) -> MaybeAwaitable[int]:
        """Store the part; returns its version: 0, or one more than the newest. Raises UsageError for an empty name."""

    @abstractmethod
    def load_artifact(
        self, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> MaybeAwaitable[Part | None]:
        """That version, or the newest one; None when there is none."""

    @abstractmethod
    def list_artifact_keys(self, app_name: str, user_id: str, session_id: str) -> MaybeAwaitable[list[str]]:
        """The names of the session's artifacts and, with their prefix, of the user's; sorted."""

    @abstractmethod
    def delete_artifact(self, app_name: str, user_id: str, session_id: str, filename: str) -> MaybeAwaitable[None]:
        """Remove all versions; the next save is version 0 again. No error when there is none."""

    @abstractmethod
    def list_versions(self, app_name: str, user_id: str, session_id: str, filename: str) -> MaybeAwaitable[list[int]]:
        """The versions, oldest first; empty when there is none."""

    def saved_at(
        self, app_name: str, user_id: str, session_id: str, filename: str, version: int
    ) -> MaybeAwaitable[float | None]:
        """When that version was saved, in seconds since 1970; None when nobody knows, as by default."""
        return None

    def close(self) -> MaybeAwaitable[None]:
        """Free what the service holds. The default holds nothing."""
        return None


def checked_name(filename: str) -> str:
    """The name. Raises UsageError for an empty one."""
    if not filename or filename == USER_PREFIX:
        raise UsageError("an artifact needs a file name; give it one, like 'report.pdf' or 'user:avatar.png'")
    return filename


def is_shared(filename: str) -> bool:
    """True for an artifact of all the user's sessions."""
    return filename.startswith(USER_PREFIX)
