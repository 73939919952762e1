"""The tables of a session file, and the check that a file is one."""

from __future__ import annotations

import sqlite3

from rxagent.errors import StoreError, StoreVersionError

__all__ = ["SCHEMA_VERSION", "create_schema", "is_prepared"]

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x52784167  # "RxAg", in the file's header
_TABLES = (
    # id: of this life of the session; never used again after a delete. last_seq: so that an append counts nothing.
    """CREATE TABLE sessions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        app TEXT NOT NULL, user TEXT NOT NULL, session TEXT NOT NULL,
        last_seq INTEGER NOT NULL DEFAULT 0, updated INTEGER NOT NULL,
        UNIQUE (app, user, session))""",
    # timestamp stands before body, so that a search by time does not read the bodies.
    """CREATE TABLE events (
        session INTEGER NOT NULL, seq INTEGER NOT NULL, timestamp INTEGER NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (session, seq)) WITHOUT ROWID""",
    """CREATE TABLE claims (
        session INTEGER NOT NULL, claim TEXT NOT NULL, PRIMARY KEY (session, claim)) WITHOUT ROWID""",
    """CREATE TABLE app_state (
        app TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (app, key)) WITHOUT ROWID""",
    """CREATE TABLE user_state (
        app TEXT NOT NULL, user TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (app, user, key)) WITHOUT ROWID""",
    """CREATE TABLE session_state (
        session INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (session, key)) WITHOUT ROWID""",
    # run_id: NULL while nobody has the turn. lease_until: seconds since 1970. stop: the reason somebody gave.
    """CREATE TABLE turns (
        app TEXT NOT NULL, user TEXT NOT NULL, session TEXT NOT NULL,
        epoch INTEGER NOT NULL, run_id TEXT, lease_until REAL NOT NULL, stop TEXT,
        instance TEXT NOT NULL, boot_id TEXT NOT NULL, pid_namespace TEXT NOT NULL, pid INTEGER NOT NULL,
        started INTEGER NOT NULL,
        PRIMARY KEY (app, user, session)) WITHOUT ROWID""",
    # The highest epoch of the turns whose rows were deleted: epochs go up, also through a delete.
    "CREATE TABLE epochs (floor INTEGER NOT NULL)",
    "INSERT INTO epochs VALUES (0)",
)


def is_prepared(connection: sqlite3.Connection, path: str) -> bool:
    """True for a session file, False for an empty database.

    Raises StoreVersionError for a newer schema, StoreError for the database of another program.
    """
    application, version, tables = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
        " FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if application == _APPLICATION_ID:
        if version > SCHEMA_VERSION:
            raise StoreVersionError(
                f"{path} has schema version {version}, this rxagent knows {SCHEMA_VERSION}; "
                "install a newer rxagent, or use another file"
            )
        return bool(version)
    if tables or application or version:
        raise StoreError(f"{path} is the database of another program; nothing was changed: use another file")
    return False


def create_schema(connection: sqlite3.Connection, path: str) -> None:
    """Make an empty database a session file; does nothing when another process has just done so."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not is_prepared(connection, path):
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
