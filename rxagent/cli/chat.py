"""`rxagent chat`: a conversation in the terminal."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
import traceback
from typing import TYPE_CHECKING, Final

from .exits import DONE
from .options import add_command, add_model_options, add_session_options

if TYPE_CHECKING:
    from rxagent.runner import Runner

    from .options import Commands
    from .screen import Screen

__all__ = ["add_to"]

_PROMPT: Final = "> "
_EXAMPLES: Final = """\
examples:
  rxagent chat                          the local model: no key, no network
  rxagent chat --db chat.db             go on next time where this conversation ends
  rxagent chat my_agents:support        an agent of yours

Ctrl-C while an answer comes stops the answer and says what was saved; the conversation goes on.
Ctrl-C or Ctrl-D at the prompt leaves.
"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "chat",
        _chat,
        summary="talk with an agent, or with the local model",
        description="Talk with an agent of yours, or with a model, in the terminal.",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "agent", metavar="MODULE:AGENT", nargs="?", help="whom to talk with; an assistant on the model, when left out"
    )
    add_session_options(parser, without_db="without it the conversation is forgotten at the end")
    add_model_options(parser)


def _chat(arguments: argparse.Namespace) -> int:
    from .ask import load_session
    from .open_runner import open_runner
    from .screen import open_screen

    screen = open_screen()
    with contextlib.suppress(ImportError):
        importlib.import_module("readline")  # its import gives `input` a line editor
    with open_runner(arguments) as runner:
        session = load_session(runner.session_service, arguments.user, arguments.session)
        if sys.stdin.isatty():
            screen.note("Ctrl-C stops an answer; at the prompt it leaves.")
            if session is not None and session.last_seq:
                screen.note(f"Session {session.id!r} goes on; it holds {session.last_seq} events.")
        while (text := _read()) is not None:
            if text.strip():
                _answer(runner, arguments, text, screen)
    return DONE


def _read() -> str | None:
    """The next line, or None when the user leaves."""
    try:
        return input(_PROMPT if sys.stdin.isatty() else "")
    except (EOFError, KeyboardInterrupt):
        if sys.stdin.isatty():
            print()
        return None


def _answer(runner: Runner, arguments: argparse.Namespace, text: str, screen: Screen) -> None:
    """One answer. A failed run is told, and the conversation goes on."""
    from rxagent.errors import RxAgentError

    from .answer import AnswerWriter
    from .ask import ask
    from .in_words import stop_in_words

    writer = AnswerWriter(screen)
    try:
        asked = ask(runner, arguments.user, arguments.session, text, writer.show)
    except RxAgentError as error:
        screen.note(f"The run failed: {error}")
        return
    except BrokenPipeError:
        raise
    except Exception:
        screen.end_line()
        traceback.print_exc()  # a mistake in the agent's code: its author needs the place
        return
    screen.end_line()
    if asked.interrupted:
        screen.note(stop_in_words(asked.saved, writer.unsaved))
    elif asked.outcome is not None and asked.outcome.kind != "completed":
        screen.note(str(asked.outcome))
