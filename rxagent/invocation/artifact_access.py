"""How code of a run reaches the artifacts of its session."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from reactivex import Observable

from rxagent.errors import ConfigError, UsageError
from rxagent.events import Part
from rxagent.streams import CancelScope, aio, as_single, is_deferred, settle

if TYPE_CHECKING:
    from rxagent.artifacts import BaseArtifactService

    from .invocation import Invocation

__all__ = ["ArtifactAccess"]


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
        if is_deferred(answer) and aio.on_loop_thread():
            getattr(answer, "close", _nothing)()  # a coroutine that nobody will await
            raise UsageError(
                "this artifact service returns awaitables, and waiting here would block the event loop; in a coroutine "
                "write `await ctx.asave_artifact(...)`, `aload_artifact` or `alist_artifacts`"
            )
        return settle(answer, self._scope)

    async def arrived(self, answer: Any) -> Any:
        """The answer's value, for a coroutine."""
        if not is_deferred(answer):
            return answer
        if isinstance(answer, Awaitable) and not isinstance(answer, Observable):
            return await answer
        return await aio.awaitable(as_single(answer))

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


def _nothing() -> None: ...
