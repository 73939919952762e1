"""FileArtifactService keeps what every artifact service promises, on the disk and for several processes."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rxagent.artifacts import FileArtifactService
from rxagent.errors import StoreCorruptError, StoreError, StoreFullError, StoreReadOnlyError
from rxagent.events import Part
from rxagent.testing.artifact_suite import NAMES, PLACE, ArtifactServiceSuite

SAVE = """
import sys
from rxagent.artifacts import FileArtifactService
from rxagent.events import Part
service = FileArtifactService(sys.argv[1])
print(*(service.save_artifact("app", "me", "s1", "f", Part(text=sys.argv[2])) for _ in range(20)))
"""


class TestFile(ArtifactServiceSuite):
    """The conformance suite on the disk."""

    def make_service(self, folder: Path) -> FileArtifactService:
        return FileArtifactService(folder / "artifacts")


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_it_is_there_for_the_next_process(tmp_path: Path) -> None:
    """What one service object has saved another one on the same folder finds."""
    FileArtifactService(tmp_path).save_artifact(*PLACE, "f", Part(text="kept"))
    again = FileArtifactService(tmp_path)
    assert again.load_artifact(*PLACE, "f") == Part(text="kept")
    assert again.list_artifact_keys(*PLACE) == ["f"]


def test_names_never_leave_the_folder(tmp_path: Path) -> None:
    """Whatever an app, user, session or file is called, its files stand below the folder, and nowhere else."""
    root = tmp_path / "deep" / "artifacts"
    service = FileArtifactService(root)
    for name in [*NAMES, "..", "\\..\\x"]:
        service.save_artifact(name, name, name, name, Part(text="x"))
        service.save_artifact(name, name, name, f"user:{name}", Part(text="x"))
    assert files(tmp_path) == [f"deep/artifacts/{name}" for name in files(root)]
    assert all(len(piece) <= 255 and piece not in (".", "..") for name in files(root) for piece in name.split("/"))


def test_processes_share_a_folder(tmp_path: Path) -> None:
    """Two processes that save at the same time get versions of their own, and none is lost."""
    command = [sys.executable, "-c", SAVE, str(tmp_path)]
    both = [subprocess.Popen([*command, who], stdout=subprocess.PIPE, text=True) for who in ("a", "b")]
    said = [process.communicate(timeout=60)[0].split() for process in both]
    assert sorted(int(version) for versions in said for version in versions) == list(range(40))
    service = FileArtifactService(tmp_path)
    assert {service.load_artifact(*PLACE, "f", int(version)) for version in said[0]} == {Part(text="a")}


def test_a_save_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is a StoreFullError; what was there stays, and no half file is left."""
    service = FileArtifactService(tmp_path)
    service.save_artifact(*PLACE, "f", Part(text="one"))
    before = files(tmp_path)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreFullError, match="No space left"):
        service.save_artifact(*PLACE, "f", Part(text="two"))
    assert files(tmp_path) == before
    assert service.list_versions(*PLACE, "f") == [0]


@pytest.mark.parametrize(("number", "kind"), [(errno.EACCES, StoreReadOnlyError), (errno.EIO, StoreError)])
def test_the_folder_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
) -> None:
    """What the system refuses is a typed error that names the place."""
    service = FileArtifactService(tmp_path)

    def refused(*_: Any) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(kind, match=r"artifacts cannot be kept at .*refused"):
        service.save_artifact(*PLACE, "f", Part(text="x"))


def test_a_version_that_is_being_written_is_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until a version is whole nobody finds it: it is written elsewhere, then linked to its number."""
    service = FileArtifactService(tmp_path)
    seen: list[object] = []

    def look(_: int) -> None:
        seen.append((service.list_versions(*PLACE, "f"), service.list_artifact_keys(*PLACE)))

    monkeypatch.setattr(os, "fsync", look)
    service.save_artifact(*PLACE, "f", Part(text="x"))
    assert seen[0] == ([], [])


def test_a_save_while_it_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save that meets the deletion of the same artifact is the first version of the new one."""
    service = FileArtifactService(tmp_path)
    service.save_artifact(*PLACE, "f", Part(text="old"))
    link = os.link
    calls: list[str] = []

    def deleting(source: str, target: str) -> None:
        if not calls:
            service.delete_artifact(*PLACE, "f")
        calls.append(target)
        link(source, target)

    monkeypatch.setattr(os, "link", deleting)
    assert service.save_artifact(*PLACE, "f", Part(text="new")) == 0
    assert len(calls) == 2


@pytest.mark.parametrize("text", ["", "[1]", "{}", '{"part": 5}', "\x00"])
def test_a_damaged_file(tmp_path: Path, text: str) -> None:
    """A file that holds no artifact is a StoreCorruptError that names it."""
    service = FileArtifactService(tmp_path)
    service.save_artifact(*PLACE, "f", Part(text="x"))
    (only,) = (path for path in tmp_path.rglob("0.json"))
    only.write_text(text)
    with pytest.raises(StoreCorruptError, match="holds no artifact"):
        service.load_artifact(*PLACE, "f")


def test_the_file_is_readable_json(tmp_path: Path) -> None:
    """On the disk stands ADK's JSON of the part, beside the name."""
    FileArtifactService(tmp_path).save_artifact(*PLACE, "user:Note.txt", Part(text="x"))
    assert files(tmp_path) == ["app/me/user/user%3A%4Eote.txt/0.json"]
    read = json.loads((tmp_path / "app/me/user/user%3A%4Eote.txt/0.json").read_text())
    assert read == {"filename": "user:Note.txt", "part": {"text": "x"}}
