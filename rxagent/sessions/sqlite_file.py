"""SqliteFile: one file, its connections, and transactions that never meet "database is locked"."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, final
from urllib.parse import quote
from weakref import WeakSet

from .sqlite_errors import is_busy, is_unwritable, store_error
from .sqlite_schema import create_schema, is_prepared

__all__ = ["SqliteFile"]

T = TypeVar("T")

_PATIENCE = 60.0  # seconds to go on trying while others write; a turn of theirs takes milliseconds
_BUSY_TIMEOUT = (
    0.02  # seconds that SQLite itself waits; its longer waits come at 100 ms steps, ours are short and uneven
)
_PAUSE = (0.0005, 0.008)  # seconds between two attempts
_WAL_LIMIT = 64 << 20  # bytes that the WAL keeps after a large transaction


@final
class SqliteFile:
    """A SQLite file in WAL mode: one connection that writes, one that reads, opened when needed.

    Threads: any; a writer and a reader do not wait for each other. A fork waits for the transactions under way and
    closes the connections, for SQLite's do not survive one; parent and child open their own.
    in_child: called in a forked child before anything else uses this file there.
    """

    __slots__ = ("__weakref__", "_in_child", "_reader", "_reading", "_synced", "_writer", "path", "writing")

    def __init__(self, path: str, in_child: Callable[[], object]) -> None:
        self.path = path
        self._in_child = in_child
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._synced = True
        self._new_locks()
        _files.add(self)

    def _new_locks(self) -> None:
        self.writing = threading.RLock()
        """Held while a write is under way; hold it around `write` for what must follow in the same order."""
        self._reading = threading.Lock()

    def open(self) -> None:
        """Create the file when there is none, and see that it can be read. Raises a StoreError."""
        self.read(_nothing)

    def write(self, work: Callable[[sqlite3.Connection], T], *, synced: bool = True) -> T:
        """Run `work` in a transaction of its own: entirely or not at all. It may be called several times.

        synced: on the disk when this returns. Otherwise the commit survives the death of the process, and a power
        cut only together with a later synced one: SQLite replays a WAL from its start up to its first gap.
        """
        with self.writing:
            return self._patiently(lambda: _transaction(self._open_writer(synced), "BEGIN IMMEDIATE", work))

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work`, which only reads, on one state of the file."""
        try:
            return self._read(work)
        except _NotPreparedError:
            self.write(_nothing)  # opening the writer makes it a session file
            return self._read(work)

    def close(self) -> None:
        """Close the connections; the next use opens others."""
        with self.writing, self._reading:
            self._close()

    def _patiently(self, attempt: Callable[[], T]) -> T:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return attempt()
            except sqlite3.Error as error:
                if not is_busy(error) or time.monotonic() > deadline:
                    raise store_error(error, self.path) from error
            time.sleep(random.uniform(*_PAUSE))

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._reading:
            return self._patiently(lambda: self._read_once(work))

    def _read_once(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._reader is None:
            try:
                self._reader = self._opened(self._open_reader)
            except sqlite3.Error as error:
                if not is_unwritable(error) or self._has_wal():
                    raise
                return self._read_immutable(work)
        return _transaction(self._reader, "BEGIN", work)

    def _read_immutable(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Read a file beside which nothing can be created, so that there is no WAL: the file itself is all.

        The connection is for once, since an immutable one would not see what others write later.
        """
        connection = self._connect(f"file:{quote(self.path)}?immutable=1")
        try:
            self._open_reader(connection)
            return _transaction(connection, "BEGIN", work)
        finally:
            connection.close()

    def _open_writer(self, synced: bool) -> sqlite3.Connection:
        if self._writer is None:
            self._writer = self._opened(self._prepare)
            self._synced = True
        if self._synced != synced:
            self._writer.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
            self._synced = synced
        return self._writer

    def _prepare(self, connection: sqlite3.Connection) -> None:
        prepared = is_prepared(connection, self.path)  # before anything is changed: it may be another program's
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
        if not prepared:
            create_schema(connection, self.path)

    def _open_reader(self, connection: sqlite3.Connection) -> None:
        if not is_prepared(connection, self.path):
            raise _NotPreparedError
        connection.execute("PRAGMA query_only = ON")

    def _opened(self, prepare: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
        connection = self._connect(f"file:{quote(self.path)}")
        try:
            prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self, uri: str) -> sqlite3.Connection:
        return sqlite3.connect(uri, uri=True, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)

    def _has_wal(self) -> bool:
        try:
            return os.stat(self.path + "-wal").st_size > 0
        except OSError:
            return False

    def _close(self) -> None:
        for connection in (self._reader, self._writer):
            if connection is not None:
                with suppress(sqlite3.Error):  # a full disk stops the last checkpoint; the WAL keeps what it holds
                    connection.close()
        self._reader = self._writer = None


class _NotPreparedError(Exception):
    """The file is missing or an empty database."""


def _transaction(connection: sqlite3.Connection, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
    connection.execute(begin)
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with suppress(sqlite3.Error):  # the first error is the one to tell
                connection.execute("ROLLBACK")
        raise
    return result


def _nothing(connection: sqlite3.Connection) -> None: ...


_files: WeakSet[SqliteFile] = WeakSet()
_forking = threading.RLock()  # one fork at a time collects the locks
_collected: list[SqliteFile] = []


def _before_fork() -> None:
    _forking.acquire()
    for file in list(_files):
        file.writing.acquire()
        file._reading.acquire()
        file._close()
        _collected.append(file)


def _after_in_parent() -> None:
    for file in _collected:
        file._reading.release()
        file.writing.release()
    _collected.clear()
    _forking.release()


def _after_in_child() -> None:
    global _forking
    for file in _collected:
        file._new_locks()
        file._in_child()
    _collected.clear()
    _forking = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
