"""`rxagent serve`: an agent over HTTP."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

from .exits import DONE
from .options import add_command, add_model_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.routing import BaseRoute

    from rxagent.serve import ServeSettings
    from rxagent.serve.desk import Desk

    from .options import Commands

    Routes = Callable[[Desk], Iterable[BaseRoute]]

__all__ = ["add_to"]

_EXAMPLES: Final = """\
examples:
  rxagent serve                                        the local model: no key, no network
  rxagent serve my_agents:support --db chat.db
  rxagent serve my_agents:support --host 0.0.0.0 --token "$TOKEN" --cors https://app.example
  rxagent serve my_agents:support --adk-ui             ADK's web UI as well, of the installed google-adk

Several servers on one --db work together: a stop, or a reader, may come to any of them.
Ctrl-C and SIGTERM stop the runs, store their seals, and end; a second one does not wait.
Needs: pip install "rxagent[serve]"
"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "serve",
        _serve,
        summary="serve an agent over HTTP",
        description="Serve an agent over HTTP: ADK's routes, and runs that can be listed, stopped and read again.",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "agent", metavar="MODULE:AGENT", nargs="?", help="the agent (without one an assistant on the model below)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=_port, default=8000, help="port to listen on, 0 for any (%(default)s)")
    parser.add_argument("--db", metavar="FILE", help="SQLite file that keeps the sessions (else they are forgotten)")
    parser.add_argument(
        "--token",
        metavar="TEXT",
        default=os.environ.get("RXAGENT_SERVE_TOKEN"),
        help="what requests must bring as Authorization: Bearer TEXT (RXAGENT_SERVE_TOKEN)",
    )
    parser.add_argument(
        "--cors",
        metavar="ORIGIN",
        action="append",
        default=[],
        help="origin whose pages may use the server; may be repeated (none)",
    )
    parser.add_argument(
        "--max-body", metavar="MIB", type=_positive, default=8.0, help="largest request body in MiB (%(default)g)"
    )
    parser.add_argument(
        "--adk-ui",
        metavar="DIR",
        nargs="?",
        const="",
        help="serve ADK's web UI, too, at /dev-ui/: the folder google/adk/cli/browser of ADK Python "
        "(without DIR that of the installed google-adk)",
    )
    add_model_options(parser)


def _serve(arguments: argparse.Namespace) -> int:
    try:
        from rxagent.serve.agui_routes import agui_routes
        from rxagent.serve.server import LOOPBACK, Server, raise_file_limit
    except ModuleNotFoundError as error:
        from rxagent.errors import UsageError

        raise UsageError(f'{error.name} is missing; pip install "rxagent[serve]"') from error
    from rxagent.serve import ServeSettings, create_app
    from rxagent.serve.page_routes import PAGE_PATHS, page_routes

    from .open_runner import open_runner
    from .open_screen import open_screen

    screen = open_screen()
    is_local = arguments.host in LOOPBACK
    if not is_local and arguments.token is None:
        screen.note(f"Whoever reaches {arguments.host} may run this agent; --token TEXT asks for a token.")
    settings = ServeSettings(
        token=arguments.token,
        cors=tuple(arguments.cors),
        hosts=LOOPBACK if is_local else None,
        max_body=int(arguments.max_body * (1 << 20)),
        public=PAGE_PATHS,
    )
    more: list[Routes] = [page_routes, agui_routes]
    if arguments.adk_ui is not None:
        settings = _with_adk_ui(arguments.adk_ui, settings, more)
        if arguments.token is not None:
            screen.note("ADK's UI sends no token: let a proxy add it, or do without --token.")
    raise_file_limit()
    with open_runner(arguments) as runner:
        runner.auto_create_session = False  # as ADK's server: a session that was deleted is not made again by a run
        app = create_app(runner, settings=settings, more=more)

        def say(host: str, port: int) -> None:
            place = f"[{host}]" if ":" in host else host
            screen.line(f"Serving {runner.agent.name} at http://{place}:{port}  (app {runner.app_name}; Ctrl-C ends)")
            if arguments.adk_ui is not None:
                screen.line(f"ADK's UI at http://{place}:{port}/dev-ui/?app={runner.app_name}")

        Server(app, arguments.host, arguments.port, say).run()
    return DONE


def _with_adk_ui(folder: str, settings: ServeSettings, more: list[Routes]) -> ServeSettings:
    from rxagent.serve.adk_ui import ADK_UI_PATHS, adk_ui_routes, find_adk_ui

    more.append(adk_ui_routes(find_adk_ui(folder or None)))
    return settings._replace(public=settings.public | ADK_UI_PATHS)


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text} is no port")
    return number


def _positive(text: str) -> float:
    number = float(text)
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number
