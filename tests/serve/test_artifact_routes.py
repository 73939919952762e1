"""Artifacts over HTTP, in ADK's JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rxagent import LlmAgent, Runner
from rxagent.artifacts import BaseArtifactService, FileArtifactService, InMemoryArtifactService
from rxagent.testing import ScriptedModel
from tests.artifacts.services import AsyncArtifacts

from .served import Answer, Served, served

ARTIFACTS = "/apps/app/users/me/sessions/s1/artifacts"
PNG = {"inlineData": {"mimeType": "image/png", "data": "//79+g=="}}


@pytest.fixture(params=["memory", "file", "async"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    services: dict[str, BaseArtifactService] = {
        "memory": InMemoryArtifactService(),
        "file": FileArtifactService(tmp_path),
        "async": AsyncArtifacts(),
    }
    agent = LlmAgent(name="support", model=ScriptedModel("Hello.", repeat_last=True))
    runner = Runner(agent, app_name="app", artifact_service=services[request.param], auto_create_session=False)
    with served(runner) as found:
        found.create("s1")
        yield found


def save(server: Served, filename: str, artifact: Any, **more: Any) -> Answer:
    return server.ask("POST", ARTIFACTS, {"filename": filename, "artifact": artifact, **more})


def test_an_artifact_is_saved_read_listed_and_deleted(server: Served) -> None:
    """The whole life of an artifact; each save is a version, the newest is read when none is named."""
    before = time.time()
    first, second = (save(server, "a.txt", {"text": text}).json for text in ("one", "two"))
    assert (first["version"], second["version"]) == (0, 1)
    assert first["canonicalUri"].endswith("://apps/app/users/me/sessions/s1/artifacts/a.txt/versions/0")
    assert (first["customMetadata"], first["mimeType"]) == ({}, "text/plain")
    assert first.get("createTime") is None or before - 2 <= first["createTime"] <= time.time() + 2
    assert server.get(ARTIFACTS) == ["a.txt"]
    one = f"{ARTIFACTS}/a.txt"
    assert server.get(one) == server.get(f"{one}/versions/latest") == server.get(f"{one}/versions/1") == {"text": "two"}
    assert server.get(f"{one}?version=0") == server.get(f"{one}/versions/0") == {"text": "one"}
    assert server.get(f"{one}/versions") == [0, 1]
    assert server.get(f"{one}/versions/metadata") == [first, second]
    assert server.get(f"{one}/versions/0/metadata") == first
    assert server.get(f"{one}/versions/latest/metadata") == second
    assert server.ask("DELETE", one).body == b"null"
    assert server.ask("GET", one).status == 404
    assert server.get(f"{one}/versions") == server.get(f"{one}/versions/metadata") == server.get(ARTIFACTS) == []
    assert server.ask("DELETE", one).body == b"null"


def test_names_with_slashes_and_those_of_the_user(server: Served) -> None:
    """A name may be a path; one that begins with `user:` belongs to all the user's sessions, and to no other user."""
    for name in ("b/c.png", "user:d/e.png"):
        saved = save(server, name, PNG).json
        assert saved["mimeType"] == "image/png"
        assert server.get(f"{ARTIFACTS}/{name}") == PNG
        assert server.get(f"{ARTIFACTS}/{name}/versions") == [0]
        assert server.get(f"{ARTIFACTS}/{name}/versions/0/metadata") == saved
    assert saved["canonicalUri"].endswith("://apps/app/users/me/artifacts/user:d/e.png/versions/0")
    assert server.get(f"{ARTIFACTS}/user%3Ad%2Fe.png") == PNG
    elsewhere = ARTIFACTS.replace("/s1/", "/s2/")
    assert server.get(elsewhere) == ["user:d/e.png"]
    assert server.get(f"{elsewhere}/user:d/e.png") == PNG
    assert server.ask("GET", f"{elsewhere}/b/c.png").status == 404
    assert server.get(elsewhere.replace("/me/", "/you/")) == []


def test_what_a_file_is_elsewhere(server: Served) -> None:
    """A part may point to a file; an unknown kind of it is left out."""
    saved = save(server, "f", {"fileData": {"fileUri": "gs://x/y", "mimeType": "x/y"}}).json
    assert saved["mimeType"] == "x/y"
    assert "mimeType" not in save(server, "g", {"fileData": {"fileUri": "gs://x/y"}}).json
    assert server.get(f"{ARTIFACTS}/g") == {"fileData": {"fileUri": "gs://x/y"}}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", f"{ARTIFACTS}/none", None, 404),
        ("GET", f"{ARTIFACTS}/a.txt/versions/7", None, 404),
        ("GET", f"{ARTIFACTS}/a.txt/versions/-1", None, 404),
        ("GET", f"{ARTIFACTS}/a.txt/versions/{10**400}", None, 404),
        ("GET", f"{ARTIFACTS}/a.txt/versions/7/metadata", None, 404),
        ("GET", f"{ARTIFACTS}/none/versions/latest/metadata", None, 404),
        ("GET", f"{ARTIFACTS}/", None, 404),
        ("GET", ARTIFACTS.replace("s1", "none") + "/a.txt", None, 404),
        ("GET", ARTIFACTS.replace("app/", "none/"), None, 404),
        ("GET", f"{ARTIFACTS}/a.txt/versions/x", None, 422),
        ("GET", f"{ARTIFACTS}/a.txt/versions/x/metadata", None, 422),
        ("GET", f"{ARTIFACTS}/a.txt?version=x", None, 422),
        ("GET", ARTIFACTS.replace("me", "%0a"), None, 422),
        ("POST", ARTIFACTS, None, 422),
        ("POST", ARTIFACTS, {"artifact": {"text": "x"}}, 422),
        ("POST", ARTIFACTS, {"filename": "", "artifact": {"text": "x"}}, 422),
        ("POST", ARTIFACTS, {"filename": "m", "artifact": {"text": "x"}, "customMetadata": {"a": 1}}, 422),
        ("POST", ARTIFACTS, {"filename": "m", "artifact": {"inlineData": {"data": "!"}}}, 422),
        ("POST", ARTIFACTS, {"filename": "m", "artifact": {"functionCall": {"name": "f"}}}, 400),
    ],
)
def test_what_cannot_be_done(server: Served, method: str, path: str, body: Any, status: int) -> None:
    """It is refused with a reason in words, and nothing is saved."""
    save(server, "a.txt", {"text": "one"})
    answer = server.ask(method, path, body)
    assert (answer.status, type(answer.json["detail"])) == (status, str)
    assert server.get(ARTIFACTS) == ["a.txt"]


def test_another_session_has_none(server: Served) -> None:
    """As with ADK the list of a session that nobody knows is empty, and no error."""
    save(server, "a.txt", {"text": "one"})
    assert server.get(ARTIFACTS.replace("s1", "none")) == []
