"""`rxagent quirks`: the ways in which chat-completions servers deviate, as a list and as a server."""

from __future__ import annotations

import argparse
import threading
from typing import TYPE_CHECKING, Final

from .exits import DONE
from .options import add_command

if TYPE_CHECKING:
    from .options import Commands

__all__ = ["add_to"]

_EXAMPLES: Final = """\
examples:
  rxagent quirks list calls                   the quirks whose names begin with "calls"
  rxagent quirks serve --port 8017            then point any client at http://127.0.0.1:8017/v1;
                                              its model's name is the quirk's
  rxagent quirks serve --port 8017 --pieces 1    each byte in a write of its own
"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "quirks",
        _list,
        summary="how chat-completions servers deviate: a list, and a server that does it",
        description="List the quirks of chat-completions servers that were seen, or serve them to a client.",
        examples=_EXAMPLES,
    )
    parser.set_defaults(begin="")
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    listing = add_command(
        actions,
        "list",
        _list,
        summary="one line for each quirk (what happens without an action)",
        description="One line for each quirk: its name, what it is, and where it was seen or which one it varies.",
    )
    listing.add_argument("begin", metavar="NAME", nargs="?", default="", help="only names that begin so")
    serving = add_command(
        actions,
        "serve",
        _serve,
        summary="a server on 127.0.0.1 that has each quirk as a model",
        description="Serve the quirks until Ctrl-C. The first line on stdout is the base URL for a client.",
    )
    serving.add_argument("--port", metavar="N", type=_port, default=0, help="port to listen on (0: a free one)")
    serving.add_argument("--pieces", metavar="BYTES", type=_size, help="bytes in a write (as the quirk has it)")


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError("give 0 to 65535")
    return port


def _size(text: str) -> int:
    size = int(text)
    if size < 1:
        raise argparse.ArgumentTypeError("give 1 or more")
    return size


def _list(arguments: argparse.Namespace) -> int:
    from rxagent.testing.quirks_corpus import quirks

    from .open_screen import open_screen

    screen = open_screen()
    found = [one for one in quirks() if one.name.startswith(arguments.begin)]
    if not found:
        screen.note(f"No quirk's name begins with {arguments.begin!r}; see: rxagent quirks list")
        return DONE
    rows = [(one.name, one.about, " ".join(one.seen) or f"like {one.like}") for one in found]
    screen.table(("quirk", "what the server does", "seen"), rows)
    return DONE


def _serve(arguments: argparse.Namespace) -> int:
    from rxagent.errors import UsageError
    from rxagent.testing.quirks_corpus import quirks
    from rxagent.testing.quirks_server import QuirkServer, pieces_of

    from .open_screen import open_screen

    try:
        server = QuirkServer(port=arguments.port, cut=pieces_of(arguments.pieces))
    except OSError as error:
        raise UsageError(f"cannot listen on port {arguments.port}: {error}; choose another --port") from None
    with server:
        screen = open_screen()
        screen.line(server.base_url)
        screen.note(f"{len(quirks())} quirks, each as a model; rxagent quirks list names them; Ctrl-C ends.")
        threading.Event().wait()
    return DONE
