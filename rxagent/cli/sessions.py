"""`rxagent sessions`: what a file holds."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .exits import DONE
from .options import APP_NAME, USER_ID, add_command

if TYPE_CHECKING:
    from rxagent.sessions import Session, SqliteSessionService

    from .options import Commands

__all__ = ["add_to"]

_EXAMPLES: Final = """\
examples:
  rxagent sessions --db chat.db                 list
  rxagent sessions show default --db chat.db    the events of one
  rxagent sessions delete default --db chat.db
"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "sessions",
        _list,
        summary="list, show or delete stored sessions",
        description="List the sessions that a file holds, show one, or delete one.",
        examples=_EXAMPLES,
    )
    _add_options(parser, app=APP_NAME, db=None)
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    for name, command, summary in (
        ("list", _list, "one line for each session (what happens without an action)"),
        ("show", _show, "the events of a session"),
        ("delete", _delete, "remove a session and its events"),
    ):
        action = add_command(actions, name, command, summary=summary, description=f"{summary.capitalize()}.")
        _add_options(action, app=argparse.SUPPRESS, db=argparse.SUPPRESS)
        if command is not _list:
            action.add_argument("session", metavar="ID", help="the session")
            action.add_argument("--user", metavar="ID", default=USER_ID, help="whose it is (%(default)s)")
        if command is _show:
            action.add_argument("--json", action="store_true", help="each event as a line of JSON")


def _add_options(parser: argparse.ArgumentParser, *, app: str, db: str | None) -> None:
    """The options that may stand before and after the action."""
    parser.add_argument("--db", metavar="FILE", default=db, help="the SQLite file")
    parser.add_argument("--app", metavar="NAME", default=app, help=f"app that the sessions belong to ({APP_NAME})")


def _list(arguments: argparse.Namespace) -> int:
    from .open_screen import open_screen

    screen = open_screen()
    service = _opened(arguments)
    try:
        sessions = service.list_sessions(arguments.app)
    finally:
        service.close()
    if not sessions:
        screen.note(f"{arguments.db} holds no sessions of app {arguments.app!r}; --app NAME looks at another.")
        return DONE
    rows = [(one.id, one.user_id, str(one.last_seq), _when(one.last_update_time)) for one in sessions]
    screen.table(("session", "user", "events", "changed"), rows)
    return DONE


def _show(arguments: argparse.Namespace) -> int:
    from .in_words import event_in_words
    from .open_screen import open_screen

    session = _loaded(arguments)
    if arguments.json:
        for event in session.events:
            sys.stdout.write(event.model_dump_json(by_alias=True) + "\n")
        return DONE
    screen = open_screen()
    for event in session.events:
        first, *more = event_in_words(event).split("\n")
        screen.line(f"{event.seq:>3}  {event.author}: {first}")
        for text in more:
            screen.line(f"     {text}")
    return DONE


def _delete(arguments: argparse.Namespace) -> int:
    from .open_screen import open_screen

    session = _loaded(arguments)
    service = _opened(arguments)
    try:
        service.delete_session(arguments.app, arguments.user, arguments.session)
    finally:
        service.close()
    open_screen().note(f"Deleted session {session.id!r} with {len(session.events)} events.")
    return DONE


def _loaded(arguments: argparse.Namespace) -> Session:
    """The session with its events. Raises SessionNotFoundError."""
    from rxagent.errors import SessionNotFoundError

    service = _opened(arguments)
    try:
        session = service.get_session(arguments.app, arguments.user, arguments.session)
    finally:
        service.close()
    if session is None:
        raise SessionNotFoundError(
            f"{arguments.db} holds no session {arguments.session!r} of user {arguments.user!r} and app "
            f"{arguments.app!r}; see: rxagent sessions --db {arguments.db}"
        )
    return session


def _opened(arguments: argparse.Namespace) -> SqliteSessionService:
    """The file, which must exist: looking at it must not make one. Raises UsageError."""
    from rxagent.errors import UsageError
    from rxagent.sessions import SqliteSessionService

    if arguments.db is None:
        raise UsageError("name the file: rxagent sessions --db FILE")
    if not Path(arguments.db).is_file():
        raise UsageError(f"there is no file {arguments.db}")
    return SqliteSessionService(arguments.db)


def _when(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
