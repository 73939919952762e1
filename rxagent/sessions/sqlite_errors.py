"""SQLite's errors as rxagent's: what happened, and what to do next."""

from __future__ import annotations

import os
import sqlite3

from rxagent.errors import (
    AppendError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)

__all__ = ["is_busy", "is_unwritable", "store_error"]

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_LITTLE = 64 * 1024  # bytes: what SQLite may need at once for its shared-memory file and a page or two


def _code(error: sqlite3.Error) -> int:
    """The primary result code; the upper bits of an extended one say more than is needed."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """True when another connection was in the way: the same will work later."""
    return _code(error) in _BUSY


def is_unwritable(error: sqlite3.Error) -> bool:
    """True when something could not be written or created, which reading may do without."""
    return _code(error) in (*_READ_ONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)


def store_error(error: sqlite3.Error, path: str) -> StoreError | AppendError:
    """The typed error for one of SQLite's."""
    code, folder = _code(error), os.path.dirname(path)
    if code in _DAMAGED:
        return StoreCorruptError(
            f"{path} is no session file or is damaged ({error}); it was left as it is: "
            "restore a copy, save what `sqlite3 FILE .recover` can read, or use another file"
        )
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(folder)):
        return StoreFullError(
            f"the disk of {path} is full: the last act was not stored, all before it was; free space and try again"
        )
    if code in _READ_ONLY:
        return _read_only(path, folder)
    if code == sqlite3.SQLITE_CANTOPEN:
        if not os.path.isdir(folder):
            return StoreError(f"the folder {folder} does not exist; create it, or use another path")
        if os.path.isdir(path):
            return StoreError(f"{path} is a folder; give the path of a file in it")
        if not os.access(folder, os.W_OK) or (os.path.exists(path) and not os.access(path, os.W_OK)):
            return _read_only(path, folder)
        return StoreError(f"{path} cannot be opened ({error}); look at its permissions and the process's open files")
    if code in _BUSY:
        return StoreError(
            f"another process has kept {path} to itself for too long; find it (fuser {path}), "
            "and keep no transaction open on this file"
        )
    if code == sqlite3.SQLITE_TOOBIG:
        return AppendError("the event is larger than SQLite can store (1 GB); keep its data as a file, and a reference")
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(
            f"reading or writing {path} failed ({error}); look at the disk. On a network file system SQLite cannot "
            "share a file: use a local disk"
        )
    return StoreError(f"{path}: SQLite says: {error}")


def _read_only(path: str, folder: str) -> StoreReadOnlyError:
    return StoreReadOnlyError(
        f"{path} or its folder {folder} cannot be written; make both writable for this user, or use another path "
        "(SQLite needs the folder for its -wal and -shm files)"
    )


def _is_full(folder: str) -> bool:
    try:
        disk = os.statvfs(folder)
    except (OSError, AttributeError):
        return False
    return disk.f_bavail * disk.f_frsize < _LITTLE
