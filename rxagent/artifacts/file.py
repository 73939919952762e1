"""FileArtifactService: artifacts as files in a folder, for several processes."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, final

from rxagent.errors import StoreCorruptError, StoreError, StoreFullError, StoreReadOnlyError
from rxagent.events import Part

from .base import BaseArtifactService, checked_name, is_shared
from .file_names import folder_name, name_of_folder

__all__ = ["FileArtifactService"]

_SUFFIX: Final = ".json"
_FULL: Final = frozenset({28, 122})  # ENOSPC, EDQUOT
_READ_ONLY: Final = frozenset({1, 13, 30})  # EPERM, EACCES, EROFS


@final
class FileArtifactService(BaseArtifactService):
    """Artifacts under a folder, one file a version: the part in ADK's JSON, beside its file name.

    ::

        PATH/APP/USER/sessions/SESSION/NAME/0.json
        PATH/APP/USER/user/NAME/0.json                 names that begin with `user:`

    A version is written aside, flushed to the disk, and then linked to its number, which only one writer can take: a
    reader sees the whole of it or nothing, also after a crash. Several processes may use one folder. Names never
    leave the folder, whatever is in them. Methods block, for a save until the disk has it.

    path: the folder, created when it is needed. Raises StoreError and its subclasses when the folder cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._root = Path(path)
        self._aside = self._root / ".aside"

    def save_artifact(self, app_name: str, user_id: str, session_id: str, filename: str, artifact: Part) -> int:
        """See the base."""
        folder = self._folder(app_name, user_id, session_id, checked_name(filename))
        part = artifact.model_dump(mode="json", by_alias=True)
        try:
            aside = self._write_aside(json.dumps({"filename": filename, "part": part}).encode())
            try:
                return _take_next_number(aside, folder)
            finally:
                aside.unlink(missing_ok=True)
        except OSError as error:
            raise _store_error(error, folder) from error

    def load_artifact(
        self, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> Part | None:
        """See the base. Raises StoreCorruptError for a file that is none of ours."""
        folder = self._folder(app_name, user_id, session_id, filename)
        if version is None:
            versions = _versions(folder)
            if not versions:
                return None
            version = versions[-1]
        read = _read(folder / f"{version}{_SUFFIX}")
        return None if read is None else _part(read, folder)

    def list_artifact_keys(self, app_name: str, user_id: str, session_id: str) -> list[str]:
        """See the base."""
        own = self._folder(app_name, user_id, session_id, "")
        shared = self._folder(app_name, user_id, session_id, "user:")
        return sorted({*_keys(own.parent), *_keys(shared.parent)})

    def delete_artifact(self, app_name: str, user_id: str, session_id: str, filename: str) -> None:
        """See the base. All versions are gone at once."""
        folder = self._folder(app_name, user_id, session_id, filename)
        grave = self._aside / uuid.uuid4().hex
        try:
            self._aside.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                folder.rename(grave)
                shutil.rmtree(grave)
        except OSError as error:
            raise _store_error(error, folder) from error

    def list_versions(self, app_name: str, user_id: str, session_id: str, filename: str) -> list[int]:
        """See the base."""
        return _versions(self._folder(app_name, user_id, session_id, filename))

    def saved_at(self, app_name: str, user_id: str, session_id: str, filename: str, version: int) -> float | None:
        """See the base. The time of the file."""
        path = self._folder(app_name, user_id, session_id, filename) / f"{version}{_SUFFIX}"
        try:
            return path.stat().st_mtime
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _store_error(error, path) from error

    def _folder(self, app_name: str, user_id: str, session_id: str, filename: str) -> Path:
        user = self._root / folder_name(app_name) / folder_name(user_id)
        place = user / "user" if is_shared(filename) else user / "sessions" / folder_name(session_id)
        return place / folder_name(filename)

    def _write_aside(self, data: bytes) -> Path:
        self._aside.mkdir(parents=True, exist_ok=True)
        aside = self._aside / uuid.uuid4().hex
        try:
            with aside.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
        return aside

    def __repr__(self) -> str:
        return f"<FileArtifactService {str(self._root)!r}>"


def _take_next_number(aside: Path, folder: Path) -> int:
    """Link the file to the number after the newest; when another writer was faster, to the next one."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        version = max(_versions(folder), default=-1) + 1
        try:
            os.link(aside, folder / f"{version}{_SUFFIX}")
        except (FileExistsError, FileNotFoundError):  # taken; or the artifact was deleted just now
            if not aside.exists():
                raise
            continue
        _sync(folder)
        return version


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _versions(folder: Path) -> list[int]:
    stems = (name.removesuffix(_SUFFIX) for name in _names(folder) if name.endswith(_SUFFIX))
    return sorted(int(stem) for stem in stems if stem.isascii() and stem.isdigit())


def _keys(place: Path) -> Iterator[str]:
    for folder in _names(place):
        versions = _versions(place / folder)
        if not versions:
            continue
        name = name_of_folder(folder)
        if name is None:
            read = _read(place / folder / f"{versions[-1]}{_SUFFIX}")
            name = None if read is None else read.get("filename")
        if name is not None:
            yield name


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _store_error(error, folder) from error


def _read(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _store_error(error, path) from error
    except ValueError as error:
        raise _corrupt(path) from error
    if not isinstance(value, dict):
        raise _corrupt(path)
    return value


def _part(read: dict[str, Any], folder: Path) -> Part:
    try:
        return Part.model_validate(read["part"])
    except (KeyError, ValueError) as error:
        raise _corrupt(folder) from error


def _corrupt(path: Path) -> StoreCorruptError:
    return StoreCorruptError(f"{path} holds no artifact; it was damaged or written by something else: remove it")


def _store_error(error: OSError, path: Path) -> StoreError:
    what = f"artifacts cannot be kept at {path}: {error.strerror or error}"
    if error.errno in _FULL:
        return StoreFullError(f"{what}; free some space and try again")
    if error.errno in _READ_ONLY:
        return StoreReadOnlyError(f"{what}; let this user write there, or give another folder")
    return StoreError(f"{what}; give another folder")
