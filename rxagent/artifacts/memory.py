"""InMemoryArtifactService: artifacts that live as long as the process."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple, final

from rxagent.events import Part

from .base import BaseArtifactService, checked_name, is_shared

__all__ = ["InMemoryArtifactService"]


class _Place(NamedTuple):
    """Whose artifacts; session_id: None for those of all sessions of the user."""

    app_name: str
    user_id: str
    session_id: str | None


class _Saved(NamedTuple):
    part: Part
    at: float  # seconds since 1970


@final
class InMemoryArtifactService(BaseArtifactService):
    """Artifacts in memory. What was loaded is what was saved: parts are values."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: dict[_Place, dict[str, list[_Saved]]] = {}

    def save_artifact(self, app_name: str, user_id: str, session_id: str, filename: str, artifact: Part) -> int:
        """See the base."""
        place = _place(app_name, user_id, session_id, checked_name(filename))
        with self._lock:
            versions = self._places.setdefault(place, {}).setdefault(filename, [])
            versions.append(_Saved(artifact, time.time()))
            return len(versions) - 1

    def load_artifact(
        self, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> Part | None:
        """See the base."""
        versions = self._versions(app_name, user_id, session_id, filename)
        if version is None:
            return versions[-1].part if versions else None
        return versions[version].part if 0 <= version < len(versions) else None

    def list_artifact_keys(self, app_name: str, user_id: str, session_id: str) -> list[str]:
        """See the base."""
        with self._lock:
            own = self._places.get(_Place(app_name, user_id, session_id), {})
            shared = self._places.get(_Place(app_name, user_id, None), {})
            return sorted([*own, *shared])

    def delete_artifact(self, app_name: str, user_id: str, session_id: str, filename: str) -> None:
        """See the base."""
        with self._lock:
            self._places.get(_place(app_name, user_id, session_id, filename), {}).pop(filename, None)

    def list_versions(self, app_name: str, user_id: str, session_id: str, filename: str) -> list[int]:
        """See the base."""
        return list(range(len(self._versions(app_name, user_id, session_id, filename))))

    def saved_at(self, app_name: str, user_id: str, session_id: str, filename: str, version: int) -> float | None:
        """See the base."""
        versions = self._versions(app_name, user_id, session_id, filename)
        return versions[version].at if 0 <= version < len(versions) else None

    def _versions(self, app_name: str, user_id: str, session_id: str, filename: str) -> list[_Saved]:
        place = _place(app_name, user_id, session_id, filename)
        with self._lock:
            return list(self._places.get(place, {}).get(filename, ()))


def _place(app_name: str, user_id: str, session_id: str, filename: str) -> _Place:
    return _Place(app_name, user_id, None if is_shared(filename) else session_id)
