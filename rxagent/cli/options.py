"""What several commands have in common: names, options, help."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

__all__ = [
    "APP_NAME",
    "SESSION_ID",
    "USER_ID",
    "HelpFormatter",
    "add_command",
    "add_model_options",
    "add_session_options",
    "add_timeout_option",
]

APP_NAME: Final = "rxagent"
"""The app that the shell's sessions belong to."""
USER_ID: Final = "me"
SESSION_ID: Final = "default"


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of what stands below the options."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)


def add_command(
    commands: Commands,
    name: str,
    command: Callable[[argparse.Namespace], int],
    *,
    summary: str,
    description: str,
    examples: str = "",
) -> argparse.ArgumentParser:
    """A subcommand: `summary` is its line in the list, `description` and `examples` its own help."""
    parser = commands.add_parser(
        name, help=summary, description=description, epilog=examples, formatter_class=HelpFormatter
    )
    parser.set_defaults(command=command)
    return parser


def add_session_options(parser: argparse.ArgumentParser, *, without_db: str) -> None:
    """--session, --user and --db. without_db: what happens without a file."""
    parser.add_argument("--db", metavar="FILE", help=f"SQLite file that keeps the session ({without_db})")
    parser.add_argument("--session", metavar="ID", default=SESSION_ID, help="session to go on with (%(default)s)")
    parser.add_argument("--user", metavar="ID", default=USER_ID, help="user that the session belongs to (%(default)s)")


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """--model and --base-url."""
    parser.add_argument(
        "--model",
        metavar="NAME",
        help='model to ask: a name that the server knows, "local", or the path of a .gguf file '
        "(the agent's own, then RXAGENT_MODEL, then local)",
    )
    parser.add_argument(
        "--base-url",
        metavar="URL",
        help="chat-completions server, such as http://127.0.0.1:8000/v1 (RXAGENT_BASE_URL, then OPENAI_BASE_URL)",
    )


def add_timeout_option(parser: argparse.ArgumentParser) -> None:
    """--timeout."""
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=_seconds, help="stop an answer that takes longer (none, when left out)"
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds
