"""ADK's routes for artifacts."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rxagent.artifacts import BaseArtifactService, InMemoryArtifactService
from rxagent.events import USER_PREFIX, Part, Value
from rxagent.sessions import SessionKey

from .body import read_json
from .desk import Desk
from .ids import checked_key
from .run_order import validated
from .services import on_worker, settled
from .session_routes import json_response

__all__ = ["ArtifactRoutes"]

_ARTIFACTS: Final = "/apps/{app}/users/{user}/sessions/{session}/artifacts"
_ONE: Final = _ARTIFACTS + "/{name:path}"
_METADATA: Final = "/metadata"
_LATEST: Final = "latest"
_MOST: Final = 1 << 31  # no service counts so far, and no file system has such names


class _NewArtifact(Value):
    filename: str
    artifact: Part
    custom_metadata: dict[str, Any] | None = None


class _Place(NamedTuple):
    """The artifact, or the artifacts, that a request is about."""

    service: BaseArtifactService
    key: SessionKey
    name: str

    def load(self, version: int | None) -> Part | None:
        return settled(self.service.load_artifact(*self.key, self.name, version))

    def versions(self) -> list[int]:
        return settled(self.service.list_versions(*self.key, self.name))

    def facts(self, version: int | None) -> dict[str, Any] | None:
        """ADK's ArtifactVersion; None when there is no such version."""
        if version is None:
            version = max(self.versions(), default=None)
        part = None if version is None else self.load(version)
        if part is None or version is None:
            return None
        fields = {
            "version": version,
            "canonicalUri": self._uri(version),
            "customMetadata": {},
            "createTime": settled(self.service.saved_at(*self.key, self.name, version)),
            "mimeType": _mime_type(part),
        }
        return {name: value for name, value in fields.items() if value is not None}

    def all_facts(self) -> list[dict[str, Any]]:
        return [facts for version in self.versions() if (facts := self.facts(version)) is not None]

    def _uri(self, version: int) -> str:
        scheme = "memory" if isinstance(self.service, InMemoryArtifactService) else "artifact"
        session = "" if self.name.startswith(USER_PREFIX) else f"/sessions/{self.key.session_id}"
        owner = f"apps/{self.key.app_name}/users/{self.key.user_id}{session}"
        return f"{scheme}://{owner}/artifacts/{self.name}/versions/{version}"


@final
class ArtifactRoutes:
    """Save, load, list and delete artifacts. A name may hold slashes, and begin with `user:`."""

    __slots__ = ("_desk",)

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """For the application; in ADK's order, since a name could be the rest of every path."""
        version = _ONE + "/versions/{version}"
        return [
            Route(version + _METADATA, self.version_facts),
            Route(_ONE + "/versions" + _METADATA, self.versions_facts),
            Route(_ARTIFACTS, self.save, methods=["POST"]),
            Route(version, self.load_version),
            Route(_ARTIFACTS, self.names),
            Route(_ONE + "/versions", self.versions),
            Route(_ONE, self.load),
            Route(_ONE, self.delete, methods=["DELETE"]),
        ]

    async def save(self, request: Request) -> Response:
        """POST {"filename", "artifact"}: a new version; what is known of it."""
        place = self._place(request)
        asked = validated(_NewArtifact, await read_json(request, self._desk.settings.max_body))
        if asked.custom_metadata:
            raise HTTPException(422, "customMetadata is not kept here; leave it out, or put it into an artifact")
        place = place._replace(name=asked.filename)
        if not {"inline_data", "text", "file_data"} & asked.artifact.model_fields_set:
            raise HTTPException(400, "Not supported artifact type; send a part with inlineData, text or fileData")

        def save() -> dict[str, Any] | None:
            version = settled(place.service.save_artifact(*place.key, place.name, asked.artifact))
            return place.facts(version)

        return _found(await on_worker(save), "Artifact metadata unavailable; another request has deleted it")

    async def names(self, request: Request) -> Response:
        """GET the names of the session's artifacts and the user's."""
        service, key, _ = self._place(request)
        return json_response(await on_worker(lambda: service.list_artifact_keys(*key)))

    async def load(self, request: Request) -> Response:
        """GET the newest version, or that of ?version=."""
        asked = request.query_params.get("version")
        return await self._load(request, None if asked is None else _number(asked))

    async def load_version(self, request: Request) -> Response:
        """GET a version, or the one called latest."""
        return await self._load(request, _version(request))

    async def versions(self, request: Request) -> Response:
        """GET the numbers of the versions."""
        return json_response(await on_worker(self._place(request).versions))

    async def version_facts(self, request: Request) -> Response:
        """GET what is known of a version."""
        place, version = self._place(request), _version(request)
        return _found(await on_worker(lambda: place.facts(version)), "Artifact version not found")

    async def versions_facts(self, request: Request) -> Response:
        """GET what is known of each version."""
        return json_response(await on_worker(self._place(request).all_facts))

    async def delete(self, request: Request) -> Response:
        """DELETE all versions. Nothing when there is none."""
        service, key, name = self._place(request)
        await on_worker(lambda: service.delete_artifact(*key, name))
        return json_response(None)

    async def _load(self, request: Request, version: int | None) -> Response:
        place = self._place(request)
        return _found(await on_worker(lambda: _json(place.load(version))), "Artifact not found")

    def _place(self, request: Request) -> _Place:
        path = request.path_params
        runner = self._desk.runner(path["app"])
        key = checked_key(runner.app_name, path["user"], path["session"])
        return _Place(runner.artifact_service, key, path.get("name", ""))


def _version(request: Request) -> int | None:
    asked = request.path_params["version"]
    return None if asked == _LATEST else _number(asked)


def _number(text: str) -> int:
    """A version. Status 422 when it is no number; one that no artifact can have is -1."""
    try:
        number = int(text)
    except ValueError:
        raise HTTPException(422, f"Invalid version ID; send a number, or {_LATEST}") from None
    return number if 0 <= number < _MOST else -1


def _found(value: Any, otherwise: str) -> Response:
    if value is None:
        raise HTTPException(404, otherwise)
    return json_response(value)


def _json(part: Part | None) -> dict[str, Any] | None:
    return None if part is None else part.model_dump(mode="json", by_alias=True)


def _mime_type(part: Part) -> str | None:
    """As ADK finds it."""
    if part.inline_data is not None:
        return part.inline_data.mime_type
    if part.text is not None:
        return "text/plain"
    return None if part.file_data is None else part.file_data.mime_type
