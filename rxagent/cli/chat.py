"""`rxagent chat`: a conversation in the terminal."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from .exits import DONE, SHUT_DOWN
from .options import add_command, add_model_options, add_session_options, add_timeout_option

if TYPE_CHECKING:
    from .options import Commands

__all__ = ["add_to"]

_EXAMPLES: Final = """\
examples:
  rxagent chat                          the local model: no key, no network
  rxagent chat --db chat.db             go on next time where this conversation ends
  rxagent chat my_agents:support        an agent of yours

Ctrl-C while an answer comes stops the answer, seals the session and says what was saved; a second one leaves the answer
at once. The conversation goes on. SIGTERM stops the answer and ends the conversation (exit code 143).
Ctrl-C or Ctrl-D at the prompt leaves. /new begins a new session.
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
    add_timeout_option(parser)


def _chat(arguments: argparse.Namespace) -> int:
    from .conversation import Conversation
    from .open_runner import open_runner
    from .open_screen import open_screen

    with open_runner(arguments) as runner:
        talk = Conversation(runner, arguments.user, arguments.session, open_screen(), timeout=arguments.timeout)
        talk.hold()
    return SHUT_DOWN if talk.is_shut_down else DONE
