"""`rxagent run`: one question, one answer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from .exits import DONE
from .options import add_command, add_model_options, add_session_options, add_timeout_option

if TYPE_CHECKING:
    from rxagent.events import Event

    from .options import Commands

__all__ = ["add_to"]

_EXAMPLES: Final = """\
examples:
  rxagent run my_agents:support "Export report 7"
  rxagent run my_agents:support "And report 8?" --db chat.db --session s1
  rxagent run my_agents:support "Export report 7" --json | jq .author

The answer goes to stdout as it streams, tool calls and other notes to stderr.
Ctrl-C stops the run (exit code 130), seals the session and says what was saved; a second one leaves at once.
--timeout (124) and SIGTERM (143) stop it, too.
"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "run",
        _run,
        summary="ask an agent one question",
        description="Ask an agent of yours one question and stream the answer.",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "agent", metavar="MODULE:AGENT", help="a module (the current directory is looked at first) and an agent in it"
    )
    parser.add_argument("text", metavar="TEXT", help="the question")
    add_session_options(parser, without_db="without it the session is forgotten at the end")
    add_model_options(parser)
    add_timeout_option(parser)
    parser.add_argument("--json", action="store_true", help="print each event as a line of JSON")


def _run(arguments: argparse.Namespace) -> int:
    from .answer import AnswerWriter
    from .ask import ask, exit_of
    from .in_words import question_in_words
    from .open_runner import open_runner
    from .open_screen import open_screen

    screen = open_screen()
    writer = AnswerWriter(screen)
    show: Callable[[Event], None] = _print_json if arguments.json else writer.show
    try:
        with open_runner(arguments) as runner:
            asked = ask(runner, arguments.user, arguments.session, arguments.text, show, timeout=arguments.timeout)
            waiting = runner.pending(arguments.user, arguments.session) if arguments.db is not None else []
    finally:
        screen.end_line()
    code = exit_of(asked, writer.unsaved, screen)
    for question in waiting if code == DONE else ():
        screen.note(f"{question_in_words(question)}\nAnswer it: rxagent resume {arguments.agent} --db {arguments.db}")
    return code


def _print_json(event: Event) -> None:
    sys.stdout.write(event.model_dump_json(by_alias=True) + "\n")
    sys.stdout.flush()
