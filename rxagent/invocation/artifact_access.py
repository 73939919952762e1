"""How code of a run reaches the artifacts of its session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rxagent.errors import ConfigError
from rxagent.events import Part
from rxagent.streams import CancelScope

from .service_answer import answer_here, answer_in_coroutine

if TYPE_CHECKING:
    from rxagent.artifacts import BaseArtifactService

    from .invocation import Invocation

__all__ = ["ArtifactAccess"]

_INSTEAD: Final = "`await ctx.asave_artifact(...)`, `aload_artifact` or `alist_artifacts`"


class ArtifactAccess:
    """The artifacts of one run's session: the service's answers as they are, or waited for."""

    __slots__ = ("_invocation", "_scope")

    def __init__(self, invocation: Invocation, scope: CancelScope) -> None:
        self._invocation = invocation
        self._scope = scope

    def save(self, filename: str, part: Part) -> Any:
        """The version, or what it is to be waited for."""
        return self._service.save_artifact(*self._place, filename, part)

    def load(self, filename: str, version: int | None) -> Any:
        """The part or None, or what it is to be waited for."""
        return self._service.load_artifact(*self._place, filename, version)

    def keys(self) -> Any:
        """The names, or what they are to be waited for."""
        return self._service.list_artifact_keys(*self._place)

    def wait(self, answer: Any) -> Any:
        """The answer's value; blocks for a deferred one, and a stop leaves it.

        Raises UsageError on an event loop's thread, where waiting would block the loop.
        """
        return answer_here(answer, self._scope, _INSTEAD)

    async def arrived(self, answer: Any) -> Any:
        """The answer's value, for a coroutine."""
        return await answer_in_coroutine(answer)

    @property
    def _place(self) -> tuple[str, str, str]:
        invocation = self._invocation
        return invocation.app_name, invocation.user_id, invocation.session_id

    @property
    def _service(self) -> BaseArtifactService:
        service = self._invocation.artifact_service
        if service is None:
            raise ConfigError("Artifact service is not initialized; give the Runner an artifact_service")
        return service
