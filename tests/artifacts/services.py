"""An artifact service as a user may write it."""

from __future__ import annotations

from rxagent.artifacts import BaseArtifactService, InMemoryArtifactService
from rxagent.events import Part

__all__ = ["AsyncArtifacts"]


class AsyncArtifacts(BaseArtifactService):
    """A service whose methods are coroutine functions."""

    def __init__(self) -> None:
        self._inner = InMemoryArtifactService()

    async def save_artifact(self, app_name: str, user_id: str, session_id: str, filename: str, artifact: Part) -> int:
        return self._inner.save_artifact(app_name, user_id, session_id, filename, artifact)

    async def load_artifact(
        self, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> Part | None:
        return self._inner.load_artifact(app_name, user_id, session_id, filename, version)

    async def list_artifact_keys(self, app_name: str, user_id: str, session_id: str) -> list[str]:
        return self._inner.list_artifact_keys(app_name, user_id, session_id)

    async def delete_artifact(self, app_name: str, user_id: str, session_id: str, filename: str) -> None:
        self._inner.delete_artifact(app_name, user_id, session_id, filename)

    async def list_versions(self, app_name: str, user_id: str, session_id: str, filename: str) -> list[int]:
        return self._inner.list_versions(app_name, user_id, session_id, filename)
